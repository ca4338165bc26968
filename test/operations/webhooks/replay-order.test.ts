import assert from 'node:assert/strict'
import { test } from 'node:test'
import { publishBatch } from '../../../src/operations/events/publish.ts'
import { queueUndelivered } from '../../../src/storage/webhooks/deliveries.ts'
import { sql } from '../../support/service.ts'
import { openDeliveryService } from './delivery-service.ts'
import { openReceiver, until } from './receiver.ts'

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
