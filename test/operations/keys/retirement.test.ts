import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retireKey } from '../../../src/operations/keys/retire.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { openTestService, sql } from '../../support/service.ts'
import { subjectOf } from './in-process.ts'

test('a version does not retire while a process may still make something under it', async () => {
  const other = await openTestService()
  const { administer: administerOther } = subjectOf(other)
  await administerOther('POST', '//keys/cvk/rotate')
  await sql(
    other.database,
    `update hsm_key set state = 'active', activated_at = now()
     where key_name = 'cvk' and key_version = 2`,
  )
  // No card is under it: but another process may not know yet that it has a successor.
  const early = await administerOther('POST', '//keys/cvk/versions/1/retire')
  assert.deepEqual([early.status, early.json.code], [409, 'key_in_use'])
  const card = await other.createCard()
  const [row] = await sql(other.database, 'select cvk from card where public_token = $1', [
    card.publicToken,
  ])
  assert.equal(row?.cvk, 'cvk/1')
  await sql(
    other.database,
    `update hsm_key set activated_at = now() - interval '31 seconds'
     where key_name = 'cvk' and key_version = 2`,
  )
  const used = await administerOther('POST', '//keys/cvk/versions/1/retire')
  assert.match(used.json.detail, /still in use in card.cvk/)
  await sql(other.database, `update card set cvk = 'cvk/2'`)
  assert.equal((await administerOther('POST', '//keys/cvk/versions/1/retire')).status, 204)
})

test('a version does not retire whose successor settled only while it was searched', async () => {
  const service = await openTestService()
  await subjectOf(service).administer('POST', '//keys/cvk/rotate')
  await sql(
    service.database,
    `update hsm_key set state = 'active', activated_at = now()
     where key_name = 'cvk' and key_version = 2`,
  )
  // The search takes so long that a process which had not read the keys issued a card behind it.
  const database: Database = {
    ...service.database,
    async query(statement, values) {
      const rows = await service.database.query<never>(statement, values)
      if (!statement.text.includes('from card')) return rows
      await service.createCard()
      await sql(
        service.database,
        `update hsm_key set activated_at = now() - interval '1 hour'
         where key_name = 'cvk' and key_version = 2`,
      )
      return rows
    },
  }
  const operator = { clientId: 'demo-admin', requestId: 'retire' }
  const retire = () =>
    retireKey({ ...service.keys, database }, operator, { keyName: 'cvk', keyVersion: 1 }, null)
  await assert.rejects(retire, { code: 'key_in_use' })
  const [row] = await sql(
    service.database,
    `select state from hsm_key where key_name = 'cvk' and key_version = 1`,
  )
  assert.equal(row?.state, 'active')
})
