/**
 * A database that an operator restored from a backup: what the service says of it, and how another
 * log begins.
 */
import assert from 'node:assert/strict'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { makeFolder, startProgram } from '../support/process.ts'
import { newCard } from '../support/service.ts'
import { pinfold } from './run-pinfold.ts'
import { type ServedProgram, serveProgram } from './served-program.ts'

type Program = Omit<ServedProgram, 'stop'>

const makeCard = async (program: Program, token: string): Promise<string> => {
  const card = await program.call('POST', '/cards', { token, body: newCard() })
  assert.equal(card.status, 201, card.text)
  return card.json.publicToken
}

/** Makes a card and shows its PIN; resolves with the entry of that once its receipt is there. */
const act = async (program: Program, isSigned = true): Promise<string> => {
  const token = await program.token()
  const card = await makeCard(program, token)
  const shown = await program.call('GET', `/card-pin/${card}/pin`, { token })
  assert.equal(shown.status, 200)
  const entry = shown.headers.get('audit-entry') ?? ''
  if (isSigned) {
    const receipt = await run(program, 'audit', 'receipt', entry)
    assert.equal(receipt.code, 0, receipt.stdout + receipt.stderr)
  }
  return entry
}

const run = ({ dataDir }: Pick<Program, 'dataDir'>, ...words: string[]) =>
  pinfold({ DATA_DIR: dataDir }, ...words)

const statusOf = async ({ privateUrl }: Program, path: string) =>
  (await fetch(`${privateUrl}${path}`)).status

const healthOf = async ({ privateUrl }: Program) => {
  const answer = await fetch(`${privateUrl}/health`)
  return { code: answer.status, ...((await answer.json()) as { status: string }) }
}

/**
 * What the doctor says of the log: by the database where it can be opened, otherwise by who works
 * with it.
 */
const doctor = async (where: Pick<Program, 'dataDir'>) => {
  const { stdout } = await run(where, 'doctor', '--json')
  const findings: { check: string; found: string; verdict: string }[] = JSON.parse(stdout).findings
  const isOfLog = /^audit-log$|^audit-log:signing/
  return findings.find(({ check, found }) => [check, found].some((each) => isOfLog.test(each)))
}

test('a restored database is not signed until its log has a successor', async () => {
  const first = await serveProgram()
  const { dataDir } = first
  await act(first)
  await first.stop()
  const backup = join(await makeFolder(), 'pgdata')
  await cp(join(dataDir, 'pgdata'), backup, { recursive: true })
  const second = await serveProgram({ dataDir })
  // More entries than the restored database has when it is first compared, on the slowest machine.
  const token = await second.token()
  await Promise.all(Array.from({ length: 40 }, () => makeCard(second, token)))
  await act(second)
  const exported = join(await makeFolder(), 'export')
  assert.equal((await run(second, 'audit', 'export', exported)).code, 0)
  assert.deepEqual(await healthOf(second).then(({ code, status }) => [code, status]), [200, 'pass'])
  assert.equal((await doctor(second))?.verdict, 'good')
  const early = await run(second, 'audit', 'succeed', '--reason', 'Why not', '--json')
  assert.equal(JSON.parse(early.stdout).error.code, 'audit_log_continues')

  await second.stop()
  await rm(join(dataDir, 'pgdata'), { recursive: true })
  await cp(backup, join(dataDir, 'pgdata'), { recursive: true })
  // Before anything is started, too.
  assert.equal((await doctor({ dataDir }))?.verdict, 'fault')
  // In a process of its own, which remembers nothing of what was signed.
  const restored = await startProgram({ dataDir })
  const entry = await act(restored, false)
  while ((await healthOf(restored)).status !== 'fail') await wait(50)
  assert.equal((await healthOf(restored)).code, 503)
  assert.match(await (await fetch(`${restored.privateUrl}/metrics`)).text(), /_refused 1$/m)
  assert.equal((await doctor({ dataDir }))?.verdict, 'fault')
  assert.equal(await statusOf(restored, '/readyz'), 200)
  const listed = await run(restored, 'audit', 'logs', '--json')
  assert.match(JSON.parse(listed.stdout)[0].refusal, /was signed with \d+ entries/)

  const begun = await run(restored, 'audit', 'succeed', '--reason', 'Restored, of 3 May')
  assert.equal(begun.code, 0, begun.stderr)
  const receipt = await run(restored, 'audit', 'receipt', entry)
  assert.equal(receipt.code, 0, receipt.stdout + receipt.stderr)
  await restored.kill('SIGTERM')
  const last = await serveProgram({ dataDir })
  await act(last)
  assert.equal(await healthOf(last).then(({ code }) => code), 200)
  assert.equal((await doctor(last))?.verdict, 'good')
  // Whoever has an export of before sees that something is gone, and why.
  const fresh = join(await makeFolder(), 'export')
  assert.equal((await run(last, 'audit', 'export', fresh)).code, 0)
  const verify = (...words: string[]) => run(last, 'audit', 'verify', ...words, '--json')
  const verified = await verify(fresh)
  assert.equal(verified.code, 1, verified.stdout + verified.stderr)
  const { findings, logs } = JSON.parse(verified.stdout)
  assert.deepEqual(
    findings.map(({ code }: { code: string }) => code),
    ['rolled_back'],
  )
  assert.match(findings[0].detail, /Restored, of 3 May/)
  const accepted = await verify(fresh, '--accept-successor', logs[0].origin)
  assert.equal(accepted.code, 0, accepted.stdout + accepted.stderr)
  assert.match(JSON.parse(accepted.stdout).notes.join(), /Restored, of 3 May/)
  assert.equal((await verify(exported)).code, 0)
  // Into the folder of the last time, which has more of the log before than there is.
  assert.equal((await run(last, 'audit', 'export', exported)).code, 0)
  assert.equal((await verify(exported)).code, 1)
  const again = await verify(exported, '--accept-successor', logs[0].origin)
  assert.equal(again.code, 0, again.stdout + again.stderr)
})
