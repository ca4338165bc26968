import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Connection, Database } from '../../../src/storage/engine/database.ts'
import {
  claimIdempotencyKey,
  expireIdempotencyRecords,
  findRememberedRequest,
  retireIdempotencyKey,
  storeAnswer,
} from '../../../src/storage/idempotency/idempotency.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openEmbedded, openServerDatabase, sql } from '../../support/service.ts'

const clientId = 'client'
const fingerprint = randomBytes(32)

/** One for all tests, each of which finds no key in it. */
const openEmpty = async (): Promise<Database> => {
  embedded ??= openEmbedded()
  const database = await embedded
  await sql(database, 'delete from idempotency_record returning claim_id')
  return database
}
let embedded: Promise<Database> | undefined

const claimed = async (
  database: Connection,
  reference: Parameters<typeof claimIdempotencyKey>[1],
): Promise<string> => {
  const claimId = await claimIdempotencyKey(database, reference, fingerprint)
  assert.ok(claimId !== null)
  return claimId
}

const rows = async (database: Connection): Promise<number> =>
  (await sql(database, 'select key_hash from idempotency_record')).length

test('a key that a process knew under one version of its hash is not free under two', async () => {
  const database = await openEmpty()
  const [older, newer] = [randomBytes(32), randomBytes(32)]
  const before = { clientId, keyHashes: [older] } as const
  const claimId = await claimed(database, before)
  await storeAnswer(database, before, claimId, Buffer.from('answer'))
  await claimed(database, { clientId: 'other', keyHashes: [newer] })
  const since = { clientId, keyHashes: [newer, older] } as const
  assert.equal(await claimIdempotencyKey(database, since, fingerprint), null)
  assert.equal(
    await rows(database),
    2,
    "nothing but another client's is left under the newer version",
  )
  const found = await findRememberedRequest(database, since, [fingerprint])
  assert.equal(Buffer.from(found?.answer ?? []).toString(), 'answer')
  assert.equal(found?.claimId, claimId)
})

test('no more are forgotten at once than were asked for, the oldest first, and none of today', async () => {
  const database = await openEmpty()
  const hashes = Array.from({ length: 4 }, () => randomBytes(32))
  const claimAgo = async (name: string, hash: Buffer | undefined, hours: number) => {
    assert.ok(hash)
    const claimId = await claimed(database, { clientId: name, keyHashes: [hash] })
    const age =
      'update idempotency_record set created_at = now() - $2::interval where claim_id = $1'
    await sql(database, age, [claimId, `${hours} hours`])
  }
  // One client's, and one of another that has a hash in common with the oldest.
  for (const [at, hours] of [25, 27, 23, 26].entries()) await claimAgo('mine', hashes[at], hours)
  await claimAgo('other', hashes[1], 25.5)
  const left = async (): Promise<string[]> => {
    const kept = await sql<{ clientId: string; hash: Uint8Array }>(
      database,
      'select client_id as "clientId", key_hash as hash from idempotency_record order by created_at',
    )
    return kept.map(
      ({ clientId: name, hash }) => `${name} ${hashes.findIndex((each) => each.equals(hash))}`,
    )
  }
  assert.equal(await expireIdempotencyRecords(database, 2), 2)
  assert.deepEqual(await left(), ['other 1', 'mine 0', 'mine 2'])
  assert.equal(await expireIdempotencyRecords(database, 9), 2)
  assert.deepEqual(await left(), ['mine 2'])
})

test('a key is retired under all its hashes, and no other with it', async () => {
  const database = await openEmpty()
  const [one, other, third] = [randomBytes(32), randomBytes(32), randomBytes(32)]
  const key = { clientId, keyHashes: [one, other] } as const
  await claimed(database, key)
  await claimed(database, { clientId, keyHashes: [third] })
  await claimed(database, { clientId: 'other', keyHashes: [one] })
  await retireIdempotencyKey(database, key)
  const retired = await sql<{ clientId: string; hash: Uint8Array }>(
    database,
    'select client_id as "clientId", key_hash as hash from idempotency_record where retired',
  )
  const found = retired.map(
    ({ clientId: name, hash }) => `${name} ${Buffer.from(hash).toString('hex')}`,
  )
  assert.deepEqual(
    found.sort(),
    [one, other].map((hash) => `${clientId} ${hash.toString('hex')}`).sort(),
  )
})

test('a key that was claimed under two versions is found under either of them alone', async () => {
  const database = await openEmpty()
  const [older, newer] = [randomBytes(32), randomBytes(32)]
  const during = { clientId, keyHashes: [older, newer] } as const
  await storeAnswer(database, during, await claimed(database, during), Buffer.from('answer'))
  for (const keyHash of [older, newer]) {
    const alone = { clientId, keyHashes: [keyHash] } as const
    assert.equal(await claimIdempotencyKey(database, alone, fingerprint), null)
    const found = await findRememberedRequest(database, alone, [fingerprint])
    assert.equal(Buffer.from(found?.answer ?? []).toString(), 'answer')
  }
  const theirs = { clientId: 'other', keyHashes: [older] } as const
  const claimId = await claimed(database, theirs)
  assert.equal((await findRememberedRequest(database, theirs, [fingerprint]))?.claimId, claimId)
})

test('of two that know of different versions of a hash the first answer stays, wherever it is looked for', async () => {
  const database = await openEmpty()
  const answers = [
    { knows: (older: Buffer, newer: Buffer) => [older, newer] as const, text: 'the slow one' },
    { knows: (older: Buffer) => [older] as const, text: 'its repeat' },
  ]
  for (const [first, second] of [answers, answers.toReversed()]) {
    assert.ok(first && second)
    // Where only one was known, the row without an answer is the one that an index comes to first.
    const [newer, older] = [randomBytes(32), randomBytes(32)].sort(Buffer.compare)
    assert.ok(older && newer)
    const found = async (): Promise<string> => {
      const both = { clientId, keyHashes: [newer, older] } as const
      const remembered = await findRememberedRequest(database, both, [fingerprint])
      return Buffer.from(remembered?.answer ?? []).toString()
    }
    const claimId = await claimed(database, { clientId, keyHashes: [older, newer] })
    const store = ({ knows, text }: typeof first) =>
      storeAnswer(
        database,
        { clientId, keyHashes: knows(older, newer) },
        claimId,
        Buffer.from(text),
      )
    assert.equal((await store(first))?.isOwn, true)
    assert.equal(await found(), first.text)
    const stored = await store(second)
    assert.equal(stored?.isOwn, false)
    assert.equal(Buffer.from(stored?.answer ?? []).toString(), first.text)
    assert.equal(await found(), first.text)
  }
})

const postgres = await openPostgres()

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test('of processes that differ on the active version one claims a key, and none waits for ever', async () => {
    const { database } = await openServerDatabase(postgres)
    for (let round = 0; round < 20; round++) {
      const [older, newer] = [randomBytes(32), randomBytes(32)]
      const claim = (keyHashes: readonly [Uint8Array, ...Uint8Array[]]) =>
        database.transaction((connection) =>
          claimIdempotencyKey(connection, { clientId, keyHashes }, fingerprint),
        )
      const claims = await Promise.all([
        claim([older, newer]),
        claim([newer, older]),
        claim([older, newer]),
        claim([newer, older]),
      ])
      assert.equal(claims.filter((claimId) => claimId !== null).length, 1)
    }
  })

  test('the second of two concurrent answers under one key waits for the first, and returns its answer', async () => {
    const { database } = await openServerDatabase(postgres)
    const key = { clientId, keyHashes: [randomBytes(32), randomBytes(32)] } as const
    const claimId = await claimed(database, key)
    const store = (connection: Connection, text: string) =>
      storeAnswer(connection, key, claimId, Buffer.from(text))
    const { second } = await database.transaction(async (connection) => {
      assert.equal((await store(connection, 'first'))?.isOwn, true)
      const pending = store(database, 'second')
      // It has come to the rows, which are locked until this commits.
      const isWaiting = async () => {
        // Of a cluster the rows are locked on a node.
        const sessions = postgres.isCluster ? 'citus_stat_activity' : 'pg_stat_activity'
        const waiting = `select from ${sessions}
          where datname = current_database() and wait_event_type = 'Lock'`
        return (await sql(database, waiting)).length > 0
      }
      while (!(await isWaiting())) await wait(5)
      return { second: pending }
    })
    const answered = await second
    assert.equal(answered?.isOwn, false)
    assert.equal(Buffer.from(answered?.answer ?? []).toString(), 'first')
  })
})
