import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { publishBatch } from '../../../src/operations/events/publish.ts'
import { type RunningDelivery, startDelivery } from '../../../src/operations/webhooks/delivery.ts'
import { queueUndelivered } from '../../../src/storage/webhooks/deliveries.ts'
import { isNightly } from '../../support/cases.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openServerDatabase, openTestService, pool, sql } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { openDeliveryService } from './delivery-service.ts'
import { openReceiver } from './receiver.ts'

/**
 * Several processes, several requests, and a replay beside what happens, on the webhooks of one
 * client.
 */

const postgres = await openPostgres()
const env = { RATE_LIMIT: 'off', DELIVERY_TIMEOUT_MS: '30000' }

test('a client has 20 webhooks at most, however many are made at once', {
  skip: postgres.leftOut,
}, async () => {
  const { database } = await openServerDatabase(postgres, 20)
  const service = await openTestService({ database, env })
  const body = { url: 'http://127.0.0.1:9/', events: ['*'] }
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => service.call('POST', '/webhooks', { body })),
  )
  assert.equal(answers.filter(({ status }) => status === 201).length, 20)
  assert.equal(answers.filter(({ status }) => status === 422).length, 10)
  const other = await service.call('POST', '/webhooks', { body, as: 'otherClient' })
  assert.equal(other.status, 201)
})

test('a client whose events cannot be published delays no other client, and loses no event', {
  skip: postgres.leftOut,
}, async () => {
  const { database } = await openServerDatabase(postgres, 5)
  const service = await openTestService({ database, env })
  const make = async () => {
    await service.createCard()
    await service.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
  }
  const placedOf = async (clientId: string): Promise<number> =>
    (await sql(database, 'select from published_event where client_id = $1', [clientId])).length
  await make()
  await publishBatch(database)
  await make()
  await database.transaction(async (holder) => {
    await sql(holder, `select from feed_head where client_id = 'demo-client' for update`)
    await assert.rejects(publishBatch(database), AggregateError)
  })
  assert.deepEqual([await placedOf('demo-client'), await placedOf('demo-other-client')], [1, 2])
  await publishBatch(database)
  assert.deepEqual([await placedOf('demo-client'), await placedOf('demo-other-client')], [2, 2])
})

test('however much of it waits, what cannot be published holds up nothing else, and keeps its order', {
  skip: postgres.leftOut,
}, async (t) => {
  const { database } = await openServerDatabase(postgres, 5)
  const service = await openTestService({ database, env })
  /** As many as are looked at together. */
  const size = 3
  const unblock = async (publicToken: string, times: number) => {
    for (let time = 0; time < times; time += 1) {
      await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
    }
  }
  const placed = (clientId: string) =>
    sql<{ publicToken: string; sequence: number }>(
      database,
      `select public_token as "publicToken", sequence from published_event where client_id = $1
       order by position`,
      [clientId],
    )
  await t.test('a client that fails with more than are looked at together', async () => {
    const { publicToken } = await service.createCard()
    await publishBatch(database, size)
    await unblock(publicToken, 2 * size)
    await service.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
    await database.transaction(async (holder) => {
      await sql(holder, `select from feed_head where client_id = 'demo-client' for update`)
      await assert.rejects(publishBatch(database, size), AggregateError)
    })
    assert.equal((await placed('demo-other-client')).length, 1)
    while ((await publishBatch(database, size)) > 0);
    assert.equal((await placed('demo-client')).length, 1 + 2 * size)
  })
  await t.test(
    'a card whose later events are dated earlier, as after a clock was set back',
    async () => {
      const { publicToken } = await service.createCard()
      await unblock(publicToken, 2 * size)
      await sql(
        database,
        `update event set occurred_at = now() - interval '1 hour'
       where public_token = $1 and sequence > 1`,
        [publicToken],
      )
      while ((await publishBatch(database, size)) > 0);
      const sequences = (await placed('demo-client'))
        .filter((event) => event.publicToken === publicToken)
        .map(({ sequence }) => sequence)
      assert.deepEqual(
        sequences,
        Array.from({ length: 1 + 2 * size }, (_, at) => at + 1),
      )
    },
  )
})

test('publishing, delivering, resending and replaying at once never deadlock', {
  skip: postgres.leftOut,
}, async () => {
  const { database, url } = await openServerDatabase(postgres, 20)
  const service = await openTestService({ database, env })
  const other = pool(url, 10)
  const running: RunningDelivery[] = [
    startDelivery(service.delivering),
    startDelivery({ ...service.delivering, database: other }),
  ]
  after(() => other.close())
  const receivers = await Promise.all(
    Array.from({ length: 4 }, () => openReceiver(() => (Math.random() < 0.3 ? 500 : 204))),
  )
  const webhooks: string[] = []
  for (const receiver of receivers) {
    const body = { url: receiver.url, events: ['*'] }
    webhooks.push((await service.call('POST', '/webhooks', { body })).json.webhookId)
  }
  const [made, perCard] = isNightly ? [12, 10] : [6, 5]
  let isOver = false
  const make = async () => {
    const { publicToken } = await service.createCard()
    for (let event = 1; event < perCard; event += 1) {
      await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
    }
  }
  const disturb = async (webhookId: string) => {
    while (!isOver) {
      const path = `/webhooks/${webhookId}`
      const { json } = await service.call('GET', `${path}/deliveries?limit=5`)
      const body = { since: '2026-01-01T00:00:00Z' }
      await Promise.all([
        service.call('POST', `${path}/replay`, { body }),
        service.call('POST', `${path}/ping`),
        ...json.map(({ deliveryId }: { deliveryId: string }) =>
          service.call('POST', `${path}/deliveries/${deliveryId}/resend`),
        ),
      ])
    }
  }
  const disturbing = Promise.all(webhooks.map(disturb))
  await Promise.all(Array.from({ length: made }, make))
  isOver = true
  await disturbing
  for (const receiver of receivers) receiver.answer = () => 204
  const body = { since: '2026-01-01T00:00:00Z' }
  for (const id of webhooks) await service.call('POST', `/webhooks/${id}/replay`, { body })
  const settled = `select from delivery where type <> 'webhook.ping' and status = 'Delivered'`
  const total = made * perCard * webhooks.length
  await until(async () => (await sql(database, settled)).length === total)
  await Promise.all(running.map((each) => each.stop()))
  const groups = await sql(database, 'select from delivery_group where pending <> 0')
  const pending = await sql(database, `select from delivery where status = 'Pending'`)
  assert.deepEqual([groups.length, pending.length], [0, 0], 'the counts of the lanes are right')
  const [row] = await sql(
    database,
    'select deadlocks::integer from pg_stat_database where datname = current_database()',
  )
  assert.equal(row?.deadlocks, 0)
})

test('however long a replay is, no later event of a card passes one that is replayed', async () => {
  const service = await openDeliveryService()
  await service.stopDelivery()
  const { database } = service
  const { publicToken } = await service.createCard()
  const unblock = async () => {
    await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
    await publishBatch(database)
  }
  const clientId = (await sql<{ id: string }>(database, 'select client_id as id from card'))[0]?.id
  assert.ok(clientId)
  const fillers = 3_000
  await sql(database, 'insert into feed_head values ($1, $2::bigint)', [clientId, fillers])
  await sql(
    database,
    `insert into published_event
       (client_id, position, event_id, public_token, sequence, type, occurred_at, details)
     select $1, n, gen_random_uuid(), '1', n, 'card.created', now(), '{}'
     from generate_series(1, ${fillers}) as n`,
    [clientId],
  )
  for (let event = 0; event < 3; event += 1) await unblock()
  const receiver = await openReceiver()
  const { webhookId } = await service.createWebhook(receiver.url, ['pin.unblocked'])
  for (let event = 0; event < 2; event += 1) await unblock()
  const body = { since: '2026-01-01T00:00:00Z' }
  const replay = () => service.call('POST', `/webhooks/${webhookId}/replay`, { body })
  await replay()
  await queueUndelivered(database, { clientId, webhookId }, 500)
  await replay()
  const [row] = await sql(database, 'select replay_after::integer as "after" from webhook')
  assert.equal(row?.after, 500, 'who asks again does not begin it anew')
  service.startDelivery()
  await until(() => receiver.received.length >= 5)
  const sequences = receiver.received.map(({ message }) => message.data.sequence)
  assert.deepEqual(sequences, [2, 3, 4, 5, 6])
})
