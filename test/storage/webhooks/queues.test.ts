import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { markQueueDue, renewQueue } from '../../../src/storage/webhooks/queues.ts'
import { disableWebhook } from '../../../src/storage/webhooks/webhooks.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openServerDatabase, sql } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const postgres = await openPostgres()

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test('a drain that waits for a change of its webhook sees the change, or that it has one to see', async () => {
    const { database } = await openServerDatabase(postgres)
    const reference = { clientId: 'some-client', webhookId: randomUUID() }
    const { clientId, webhookId } = reference
    const holder = randomUUID()
    await sql(
      database,
      `insert into webhook (client_id, webhook_id, url, events, secret)
       values ('${clientId}', '${webhookId}', 'https://example.com/', '{*}', '\\x00')`,
    )
    await sql(
      database,
      `insert into delivery_queue (client_id, webhook_id, due_at, holder, leased_until)
       values ('${clientId}', '${webhookId}', now(), '${holder}', now() + interval '1 hour')`,
    )
    const renew = () => renewQueue(database, reference, holder, 3_600)
    const before = await renew()
    assert.equal(before?.status, 'Enabled')
    // Of a cluster the rows are locked on a node.
    const sessions = postgres.isCluster ? 'citus_stat_activity' : 'pg_stat_activity'
    const waiting = `select from ${sessions}
      where datname = current_database() and wait_event_type = 'Lock'`
    const { renewing } = await database.transaction(async (connection) => {
      await disableWebhook(connection, clientId, webhookId, 'client')
      await markQueueDue(connection, reference)
      const pending = renew()
      await until(async () => (await sql(database, waiting)).length > 0)
      return { renewing: pending }
    })
    const during = await renewing
    assert.ok(during)
    assert.ok(during.status === 'Disabled' || during.arrivals === before.arrivals)
    const after = await renew()
    assert.equal(after?.status, 'Disabled')
    assert.notEqual(after.arrivals, before.arrivals)
  })
})
