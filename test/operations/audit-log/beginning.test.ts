import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enterAll, listEntries } from '../../support/audit.ts'
import { openTestService, sql } from '../../support/service.ts'

test('a log says where it begins how many cards are older than itself, and nothing where none is', async () => {
  const fresh = await openTestService()
  await fresh.createCard()
  await enterAll(fresh.database)
  const acts = (await listEntries(fresh.database)).map(({ act }) => act)
  assert.ok(acts.includes('card.created') && !acts.includes('log.began'), acts.join())

  const service = await openTestService()
  const { database } = service
  for (const _ of [1, 2, 3]) await service.createCard()
  await sql(
    database,
    `delete from event where public_token in (select public_token from event where sequence = 1 order by 1 limit 2)`,
  )
  await enterAll(database)
  const [first] = await listEntries(database)
  assert.deepEqual(
    [first?.act, JSON.parse(first?.text ?? '').details],
    ['log.began', { olderCards: 2 }],
  )
})
