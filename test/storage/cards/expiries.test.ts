import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { expireCards } from '../../../src/storage/cards/changes.ts'
import { expireCard } from '../../support/builders.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openServerDatabase, openTestService, sql } from '../../support/service.ts'

const postgres = await openPostgres()

suite('the sweep of expired cards', { skip: postgres.leftOut }, () => {
  test('it waits for no act: a card that is locked is expired by a later call', async () => {
    const { database } = await openServerDatabase(postgres)
    const service = await openTestService({ database })
    const cards = [await service.createCard(), await service.createCard()] as const
    const [held, free] = cards.map(({ publicToken }) => publicToken)
    for (const { publicToken } of cards) await expireCard(database, publicToken)
    const listExpired = () =>
      sql<{ publicToken: string }>(
        database,
        `select public_token as "publicToken" from card
         where status_code = '54' and status_before_expiry = '00'
         order by public_token = $1`,
        [held ?? ''],
      )
    const sweep = () => expireCards(database, '2031-03-15', 100)
    await database.transaction(async (connection) => {
      await sql(connection, 'select from card where public_token = $1 for no key update', [
        held ?? '',
      ])
      assert.equal(await sweep(), 1)
      assert.deepEqual(await listExpired(), [{ publicToken: free }])
    })
    assert.equal(await sweep(), 1)
    assert.equal(await sweep(), 0)
    assert.deepEqual(await listExpired(), [{ publicToken: free }, { publicToken: held }])
    const events = await sql<{ count: number }>(
      database,
      `select count(*)::integer from event
       where type = 'card.status_changed' and details::jsonb = '{"from": "00", "to": "54"}'
       group by public_token`,
      [],
    )
    assert.deepEqual(events, [{ count: 1 }, { count: 1 }])
  })
})
