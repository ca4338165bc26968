import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import type { Connection } from '../../src/storage/database.ts'
import {
  claimIdempotencyKey,
  findRememberedRequest,
  storeAnswer,
} from '../../src/storage/idempotency.ts'
import { openPostgres } from '../support/postgres.ts'
import { openEmbedded, openServerDatabase, sql } from '../support/service.ts'

const clientId = 'client'
const fingerprint = randomBytes(32)

const rows = async (database: Connection): Promise<number> =>
  (await sql(database, 'select key_hash from idempotency_record')).length

test('a key that a process knew under one version of its hash is not free under two', async () => {
  const database = await openEmbedded()
  const [older, newer] = [randomBytes(32), randomBytes(32)]
  const before = { clientId, keyHashes: [older] } as const
  assert.equal(await claimIdempotencyKey(database, before, fingerprint), true)
  await storeAnswer(database, before, Buffer.from('answer'))
  const since = { clientId, keyHashes: [newer, older] } as const
  assert.equal(await claimIdempotencyKey(database, since, fingerprint), false)
  assert.equal(await rows(database), 1, 'nothing is left under the newer version')
  const found = await findRememberedRequest(database, since, [fingerprint])
  assert.equal(Buffer.from(found?.answer?.sealed ?? []).toString(), 'answer')
  assert.deepEqual(Buffer.from(found?.answer?.keyHash ?? []), older)
})

test('a key that was claimed under two versions is found under either of them alone', async () => {
  const database = await openEmbedded()
  const [older, newer] = [randomBytes(32), randomBytes(32)]
  const during = { clientId, keyHashes: [older, newer] } as const
  assert.equal(await claimIdempotencyKey(database, during, fingerprint), true)
  await storeAnswer(database, during, Buffer.from('answer'))
  for (const keyHash of [older, newer]) {
    const alone = { clientId, keyHashes: [keyHash] } as const
    assert.equal(await claimIdempotencyKey(database, alone, fingerprint), false)
  }
  const other = { clientId: 'other', keyHashes: [older] } as const
  assert.equal(await claimIdempotencyKey(database, other, fingerprint), true)
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
      assert.equal(claims.filter((isFree) => isFree).length, 1)
    }
  })
})
