import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newCard, openEmbedded, openTestService, sql } from '../../support/service.ts'

test('what an earlier program remembered under a key in clear is found after the update, and the key is gone', async () => {
  const database = await openEmbedded()
  const before = await openTestService({ database })
  const headers = { 'idempotency-key': 'key-in-clear' }
  const create = (service: typeof before) =>
    service.call('POST', '/cards', { body: newCard(), headers })
  const first = await create(before)
  assert.equal(first.status, 201)
  // As the earlier program left it: the key as it came, and the answer bound to that.
  const [row] = await sql<{ fingerprint: Uint8Array; claim: string; answer: Uint8Array }>(
    database,
    `delete from idempotency_record returning request_fingerprint as "fingerprint",
       claim_id as "claim", answer`,
  )
  assert.ok(row)
  const { hsm } = before.issuing
  const subject = `demo-client\n${row.claim}`
  const text = await hsm.revealRecord('answer', subject, row.answer)
  const sealed = await hsm.sealRecord('answer', 'demo-client\nkey-in-clear', text)
  const insert = `insert into idempotency_record_in_clear
    (client_id, idempotency_key, request_fingerprint, answer) values ('demo-client', $1, $2, $3)`
  await sql(database, insert, ['key-in-clear', row.fingerprint, sealed])
  await sql(database, insert, ['never-answered', row.fingerprint, null])

  const after = await openTestService({ database, dataDir: before.dataDir })
  assert.deepEqual(await sql(database, 'select * from idempotency_record_in_clear'), [])
  const again = await create(after)
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.equal(again.text, first.text)
  const other = await after.call('POST', '/cards', {
    body: newCard({ customerReference: 'other' }),
    headers,
  })
  assert.equal(other.json.code, 'idempotency_key_reused')
  assert.equal((await sql(database, 'select key_hash from idempotency_record')).length, 2)
})
