/**
 * A log whose checkpoints witnesses cosign, and what they keep of it where the database and this
 * machine forget.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, test } from 'node:test'
import { openNote, parseVerifierKey } from '../../../packages/audit/notes.ts'
import { examineLog } from '../../../src/operations/audit-log/continuation.ts'
import { createSigner } from '../../../src/operations/audit-log/sign.ts'
import { createWitnessServer } from '../../../src/witness/listen.ts'
import { createWitness } from '../../../src/witness/witness.ts'
import { appendMany, rollBackTo, signAll, signedSize } from '../../support/audit.ts'
import { atEndOfFile } from '../../support/end-of-file.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

let service: TestService
let witnessKey: string
/** What the witness has been sent, and how it answered. */
let statuses: number[]

/** A witness that knows the log's key, as the policy of the service names it. */
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'witnessed-'))
  const bare = await openTestService()
  await appendMany(bare.audit, 3)
  const { text } = await bare.call('GET', '//.well-known/audit-log-keys', { token: null })
  const witness = createWitness({
    name: 'witness.test/w',
    ...generateKeyPairSync('ed25519'),
    folder,
    logs: text.trimEnd().split('\n').map(parseVerifierKey),
  })
  const server = createWitnessServer(
    {
      ...witness,
      async addCheckpoint(body) {
        const answer = await witness.addCheckpoint(body)
        statuses.push(answer.status)
        return answer
      },
    },
    assert.ifError,
  )
  statuses = []
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEndOfFile(() => void server.close())
  const { port } = server.address() as AddressInfo
  witnessKey = witness.verifierKey
  const policy = join(folder, 'policy')
  await writeFile(policy, `witness w ${witnessKey} http://127.0.0.1:${port}\nquorum w\n`)
  const { database, dataDir } = bare
  service = await openTestService({ database, dataDir, env: { AUDIT_WITNESS_POLICY: policy } })
})

const newestNote = async (): Promise<string> =>
  (await service.call('GET', '//audit/checkpoint', { listener: 'private', token: null })).text

const health = async () => {
  const given = { listener: 'private', token: null } as const
  const { headers, status, text } = await service.call('GET', '//health', given)
  assert.match(String(headers['content-type']), /^application\/health\+json/)
  return { status, document: JSON.parse(text) }
}

/** Another process of the same service, on a machine that remembers nothing. */
const elsewhere = async () => {
  const { witnesses } = service.audit
  assert.ok(witnesses)
  await rm(join(service.dataDir, 'audit-checkpoint'), { force: true })
  return { ...service.audit, witnesses: { ...witnesses, sizes: new Map<string, number>() } }
}

test('a checkpoint is published with the cosignature of the witness that the policy names', async () => {
  for (const _ of [1, 2]) {
    await signAll(service.audit)
    const { verified } = await openNote(await newestNote(), [parseVerifierKey(witnessKey)])
    assert.equal(verified.length, 1)
    assert.equal((await health()).document.checks['audit-log:witnesses'][0].status, 'pass')
    await appendMany(service.audit, 300)
  }
  assert.ok(statuses.includes(200))
})

test('without the witness a log is signed all the same, and the health document says who is missing', async () => {
  await signAll(service.audit)
  const { witnesses } = service.audit
  assert.ok(witnesses)
  const post = () => Promise.reject(new Error('away'))
  await appendMany(service.audit, 2)
  await signAll({ ...service.audit, witnesses: { ...witnesses, post } })
  const note = await newestNote()
  await assert.rejects(openNote(note, [parseVerifierKey(witnessKey)]), /no signature/)
  const { document, status } = await health()
  assert.deepEqual([status, document.status], [200, 'warn'])
  assert.equal(document.checks['audit-log:witnesses'][0].status, 'warn')
  const metrics = await service.call('GET', '//metrics', { listener: 'private', token: null })
  assert.match(metrics.text, /^pinfold_audit_log_cosigned 0$/m)
})

test('the witness refuses a database that went back, also once it has grown again', async () => {
  await signAll(service.audit)
  const first = await signedSize(service.database)
  await appendMany(service.audit, 20)
  await signAll(service.audit)
  await rollBackTo(service.database, first + 5)
  const behind = await elsewhere()
  assert.match((await examineLog(behind))?.refusal ?? '', /witness/)
  assert.equal(await createSigner(behind)(), 'refused')
  // Entered anew, and more of them than were there: the tree is another.
  await appendMany(behind, 30)
  const grown = await elsewhere()
  assert.equal(await createSigner(grown)(), 'refused')
  assert.ok(statuses.includes(422))
  assert.equal(await signedSize(service.database), first)
  // What the witness disputes is not what this machine takes for the newest from now on.
  assert.equal(await service.audit.outside.read(), null)
  const { document, status } = await health()
  assert.deepEqual([status, document.status], [503, 'fail'])
  assert.match(document.checks['audit-log:signing'][0].output, /other entries/)
})

test('a checkpoint that a witness has cosigned and that was lost on its way is no obstacle to the next', async () => {
  await signAll(service.audit)
  const first = await signedSize(service.database)
  await appendMany(service.audit, 4)
  const { outside } = service.audit
  const lost = { ...outside, write: () => Promise.reject(new Error('killed')) }
  await sql(service.database, `update audit_checkpoint set signed_at = signed_at - interval '2 s'`)
  await assert.rejects(createSigner({ ...service.audit, outside: lost })(), /killed/)
  assert.equal(await signedSize(service.database), first)
  await appendMany(service.audit, 4)
  await signAll(await elsewhere())
  assert.equal(await signedSize(service.database), first + 8)
})

test('a successor is begun and signed where the database went back, and the witness is not in its way', async () => {
  await signAll(service.audit)
  const note = await readFile(join(service.dataDir, 'audit-checkpoint'), 'utf8')
  await rollBackTo(service.database, 1)
  assert.equal(await createSigner(service.audit)(), 'refused')
  const begun = await service.call('POST', '//audit/successor', {
    as: 'admin',
    listener: 'private',
    body: { reason: 'A standby lagged' },
  })
  assert.equal(begun.status, 201, begun.text)
  assert.equal(begun.json.predecessorCheckpoint, note)
  await signAll(service.audit)
  const [log] = await sql<{ refusal: string | null }>(
    service.database,
    'select refusal from audit_log order by log desc limit 1',
  )
  assert.equal(log?.refusal, null)
  assert.equal((await newestNote()).split('\n')[0], begun.json.origin)
  // What is said of a log that has a successor stays where it was.
  const former = '//audit/logs/1/checkpoint'
  const given = { listener: 'private', token: null } as const
  assert.equal((await service.call('GET', former, given)).status, 404)
})
