import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { parseCheckpoint } from '../../../packages/audit/checkpoints.ts'
import { openNote, parseVerifierKey } from '../../../packages/audit/notes.ts'
import { readRoot } from '../../../packages/audit/tiles.ts'
import { createTileReader } from '../../../src/operations/audit-log/audit-log.ts'
import { composeVerifierKeys, findCheckpoint } from '../../../src/operations/audit-log/publish.ts'
import { createSigner } from '../../../src/operations/audit-log/sign.ts'
import { enterAll } from '../../support/audit.ts'
import { issueCard } from '../../support/network.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

const admin = { as: 'admin', listener: 'private' } as const

let service: TestService
beforeEach(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
})

const act = async () => {
  await issueCard(service)
  await enterAll(service.database)
}

/** Lets the last second be over. */
const age = () =>
  sql(
    service.database,
    `update audit_checkpoint set signed_at = signed_at - interval '2 seconds' returning size`,
  )

const newest = async () => {
  const note = await findCheckpoint(service.audit, null)
  assert(note)
  return { note, ...parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1)) }
}

test('a checkpoint is of the committed tree, and verifies by the published keys', async () => {
  await act()
  assert.equal(await createSigner(service.audit)(), 'signed')
  const { note, root, size } = await newest()
  const [log] = await sql<{ size: number }>(
    service.database,
    'select size::integer as "size" from audit_log',
  )
  assert.equal(size, log?.size)
  assert.deepEqual(
    Buffer.from(root),
    Buffer.from(await readRoot(size, createTileReader(service.database, 1))),
  )
  const keys = (await composeVerifierKeys(service.audit)).trim().split('\n').map(parseVerifierKey)
  assert.equal((await openNote(note, keys)).verified.length, 1)
})

test('it is signed when the log has grown, and not otherwise', async () => {
  const sign = createSigner(service.audit)
  await act()
  assert.equal(await sign(), 'signed')
  assert.equal(await sign(), 'unchanged')
  await act()
  await age()
  assert.equal(await sign(), 'signed')
  await age()
  assert.equal(await sign(), 'unchanged')
})

test('a checkpoint is stored outside before it is published; a lost one is signed again', async () => {
  await act()
  const { outside } = service.audit
  const lost = new Error('the database is gone')
  const failing = {
    ...service.audit,
    database: {
      ...service.audit.database,
      query: (statement: { name: string }, values: never) => {
        if (statement.name === 'record_checkpoint') throw lost
        return service.audit.database.query(statement as never, values)
      },
    } as never,
  }
  await assert.rejects(createSigner(failing)(), lost)
  const remembered = await outside.read()
  assert(remembered)
  assert.equal(await findCheckpoint(service.audit, null), null)
  assert.equal(await createSigner(service.audit)(), 'signed')
  const text = (note: string) => note.slice(0, note.indexOf('\n\n'))
  assert.equal(text((await newest()).note), text(remembered))
})

/** As a backup of before would bring it back. */
const rollBackTo = async (size: number) => {
  const { database } = service
  await sql(database, 'delete from audit_checkpoint where size > $1 returning size', [size])
  await sql(database, 'delete from audit_entry where entry_index >= $1 returning log', [size])
  await sql(database, 'update audit_log set size = $1 returning log', [size])
  await sql(
    database,
    `update audit_tile set hashes = substring(hashes from 1 for 32 * $1::integer)
     where level = 0 returning log`,
    [size],
  )
}

test('a database that went back is not signed until its log has a successor', async () => {
  const sign = createSigner(service.audit)
  await act()
  assert.equal(await sign(), 'signed')
  const { origin, size } = await newest()
  await act()
  await age()
  assert.equal(await sign(), 'signed')
  const later = await newest()
  assert.equal((await service.call('POST', '//audit/successor', successor)).status, 409)
  await rollBackTo(size)
  assert.equal(await createSigner(service.audit)(), 'refused')
  const { text } = await service.call('GET', '//metrics', { listener: 'private', token: null })
  assert.match(text, /^pinfold_audit_log_refused 1$/m)
  const ready = await service.call('GET', '//readyz', { listener: 'private', token: null })
  assert.equal(ready.status, 200)
  await act()
  assert.equal(await sign(), 'refused')
  assert.equal((await newest()).size, size)

  const begun = await service.call('POST', '//audit/successor', successor)
  assert.equal(begun.status, 201, begun.text)
  assert.equal(begun.json.predecessorCheckpoint, later.note)
  await age()
  assert.equal(await createSigner(service.audit)(), 'signed')
  const now = await newest()
  assert.equal(now.origin, begun.json.origin)
  assert.notEqual(now.origin, origin)
  const [first] = await sql<{ text: string }>(
    service.database,
    'select text from audit_entry where log = 2 and entry_index = 0',
  )
  const said = JSON.parse(first?.text ?? '')
  assert.deepEqual([said.act, said.reason], ['log.succeeded', reason])
  assert.equal(said.details.predecessorCheckpoint, later.note)
  const after = await service.call('GET', '//metrics', { listener: 'private', token: null })
  assert.match(after.text, /^pinfold_audit_log_refused 0$/m)
})
const reason = 'The database was restored from last night'
const successor = { ...admin, body: { reason } }

test('a past that was changed is not signed: a hash, an entry that was taken out', async () => {
  const sign = createSigner(service.audit)
  await act()
  assert.equal(await sign(), 'signed')
  await sql(
    service.database,
    `update audit_tile set hashes = set_byte(hashes, 40, get_byte(hashes, 40) # 1)
     where level = 0 returning log`,
  )
  await act()
  await age()
  assert.equal(await sign(), 'refused')
  const [log] = await sql<{ refusal: string }>(service.database, 'select refusal from audit_log')
  assert.match(log?.refusal ?? '', /differ from the signed ones/)
})

test('of checkpoints that are older than a day the last of each hour stays, and the newest', async () => {
  const { thinCheckpoints } = await import('../../../src/storage/audit-log/checkpoints.ts')
  await act()
  assert.equal(await createSigner(service.audit)(), 'signed')
  const { size } = await newest()
  await sql(
    service.database,
    `insert into audit_checkpoint (log, size, root, note, signed_at)
     select 1, $1::bigint + at, sha256('x'), 'of before', date_trunc('hour', now()) - interval '3 days' + at * interval '10 minutes'
     from generate_series(1, 12) as at returning size`,
    [size],
  )
  await thinCheckpoints(service.database)
  const left = await sql<{ size: number }>(
    service.database,
    'select (size - $1::bigint)::integer as "size" from audit_checkpoint order by audit_checkpoint.size',
    [size],
  )
  assert.deepEqual(
    left.map((row) => row.size),
    [0, 5, 11, 12],
  )
})
