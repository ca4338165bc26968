import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { appendEntries, openAuditLog } from '../../src/operations/audit-log/audit-log.ts'
import { commitEntries } from '../../src/operations/audit-log/commit-entries.ts'
import { createSigner } from '../../src/operations/audit-log/sign.ts'
import { lockAuditLog } from '../../src/storage/audit-log/log.ts'
import { numberedEntries } from '../support/exported-log.ts'
import { openServedService, type ServedService } from '../support/served-service.ts'
import { pinfold } from './run-pinfold.ts'
import { serveProgram } from './served-program.ts'

const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'export-'))

let service: ServedService
let env: Record<string, string>
before(async () => {
  service = await openServedService()
  const { admin, baseUrl, privateUrl } = service.sandbox
  env = {
    PINFOLD_URL: baseUrl,
    PINFOLD_PRIVATE_URL: privateUrl,
    PINFOLD_CLIENT_ID: admin.clientId,
    PINFOLD_CLIENT_SECRET: admin.clientSecret,
  }
})

test('an export has every tile and entry of a log of several bundles, and verifies', async () => {
  const { audit, database } = service
  await openAuditLog(audit)
  await database.transaction(async (connection) => {
    const log = await lockAuditLog(connection)
    assert.ok(log)
    await appendEntries(connection, log, commitEntries(numberedEntries(700)))
  })
  assert.equal(await createSigner(audit)(), 'signed')
  const folder = await newFolder()
  const exported = await pinfold(env, 'audit', 'export', folder)
  assert.equal(exported.code, 0, exported.stderr)
  assert.match(exported.stdout, /: 700 entries\n$/)
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = files
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name).slice(folder.length + 1))
  assert.deepEqual(paths.toSorted(), [
    ...['checkpoint', 'checkpoints.jsonl', 'keys'],
    ...['openings/0.jsonl', 'openings/1.jsonl', 'openings/2.jsonl'],
    ...['tile/0/000', 'tile/0/001', 'tile/0/002.p/188', 'tile/1/000.p/2'],
    ...['tile/entries/000', 'tile/entries/001', 'tile/entries/002.p/188'],
  ])
  const verified = await pinfold({}, 'audit', 'verify', folder)
  assert.equal(verified.code, 0, verified.stdout)
})

test('without a running server, the command exports what the last one signed', async () => {
  const program = await serveProgram()
  const url = `${program.privateUrl}/audit/checkpoint`
  while (!(await fetch(url)).ok) await wait(50)
  await program.stop()
  const folder = await newFolder()
  const exported = await pinfold({ DATA_DIR: program.dataDir }, 'audit', 'export', folder)
  assert.equal(exported.code, 0, exported.stderr)
  const verified = await pinfold({}, 'audit', 'verify', folder)
  assert.equal(verified.code, 0, verified.stdout)
  assert.match(await readFile(join(folder, 'openings/0.jsonl'), 'utf8'), /process\.started/)
})
