import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { publishBatch } from '../../../src/operations/events/publish.ts'
import type { DeliveryContext } from '../../../src/operations/webhooks/delivery-context.ts'

import { freeEveryLease } from '../../../src/storage/engine/leases.ts'
import { queueUndelivered } from '../../../src/storage/webhooks/deliveries.ts'
import { sql } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { ageTries, type DeliveryService, openDeliveryService } from './delivery-service.ts'
import { openReceiver, type Receiver } from './receiver.ts'

/** What happens to a delivery while a request with it is on its way. */

let service: DeliveryService
before(async () => {
  service = await openDeliveryService()
})

/** A receiver that answers when a test says so. */
const openSlowReceiver = async (): Promise<Receiver & { release: (status: number) => void }> => {
  const waiting: ((status: number) => void)[] = []
  const receiver = await openReceiver(() => new Promise<number>((resolve) => waiting.push(resolve)))
  return Object.assign(receiver, {
    release: (status: number) => {
      for (const answer of waiting.splice(0)) answer(status)
    },
  })
}

type Listed = { deliveryId: string; status: string; tries: { outcome: string }[] }

const deliveriesOf = async (webhookId: string): Promise<Listed[]> =>
  (await service.call('GET', `/webhooks/${webhookId}/deliveries`)).json

const statusOf = async (webhookId: string): Promise<string> =>
  (await service.call('GET', `/webhooks/${webhookId}`)).json.status

const resend = async (webhookId: string): Promise<void> => {
  const [delivery] = await deliveriesOf(webhookId)
  const path = `/webhooks/${webhookId}/deliveries/${delivery?.deliveryId}/resend`
  assert.equal((await service.call('POST', path)).status, 202)
}

/** One event, of which a try is on its way that will be the last one if it fails. */
const beginLastTry = async (changed: Partial<DeliveryContext> = {}) => {
  const receiver = await openSlowReceiver()
  const { webhookId } = await service.createWebhook(receiver.url, ['card.created'])
  await service.createCard()
  await until(() => receiver.received.length === 1)
  receiver.release(500)
  await until(async () => (await deliveriesOf(webhookId))[0]?.tries.length === 1)
  await service.stopDelivery()
  await ageTries(service, webhookId)
  const before = receiver.received.length
  service.startDelivery(changed)
  await until(() => receiver.received.length > before)
  return { receiver, webhookId, begun: receiver.received.length }
}

test('what is sent again while it is on its way is sent once more, whatever comes of the first', async () => {
  for (const status of [204, 500]) {
    const receiver = await openSlowReceiver()
    const { webhookId } = await service.createWebhook(receiver.url, ['card.created'])
    await service.createCard()
    await until(() => receiver.received.length === 1)
    await resend(webhookId)
    receiver.release(status)
    await until(() => receiver.received.length === 2)
    assert.equal(receiver.received[0]?.id, receiver.received[1]?.id)
    receiver.release(204)
    await until(async () => (await deliveriesOf(webhookId))[0]?.status === 'Delivered')
    assert.equal((await deliveriesOf(webhookId))[0]?.tries.length, 2)
    await service.call('DELETE', `/webhooks/${webhookId}`)
  }
})

test('a try that fails after a replay was asked for does not put the delivery off', async () => {
  const { begun, receiver, webhookId } = await beginLastTry()
  await sql(service.database, 'update delivery set failures = 20 where webhook_id = $1', [
    webhookId,
  ])
  receiver.release(500)
  const dueAt = `update delivery_group set due_at = now() where webhook_id = $1`
  await until(async () => {
    await sql(service.database, dueAt, [webhookId])
    return receiver.received.length > begun
  })
  // Its own instant: what other tests made is not asked for.
  const body = { since: receiver.received[0]?.message.timestamp }
  const asked = await service.call('POST', `/webhooks/${webhookId}/replay`, { body })
  assert.equal(asked.status, 202)
  // As the process that drains the endpoint does, or the next one.
  await queueUndelivered(service.database, { clientId: 'demo-client', webhookId }, 500)
  receiver.release(500)
  await until(() => receiver.received.length > begun + 1)
  receiver.release(204)
  await until(async () => (await deliveriesOf(webhookId))[0]?.status === 'Delivered')
})

test('the last try at an address disables nothing once the webhook has another one', async () => {
  const { receiver, webhookId } = await beginLastTry()
  const elsewhere = await openReceiver()
  const body = { url: elsewhere.url, events: ['card.created'] }
  await service.call('PUT', `/webhooks/${webhookId}`, { body })
  receiver.release(500)
  await until(() => elsewhere.received.length === 1)
  assert.equal(await statusOf(webhookId), 'Enabled')
  assert.equal(elsewhere.received[0]?.id, receiver.received[0]?.id)
})

test('the last try of a delivery disables nothing once it is sent again', async () => {
  const { begun, receiver, webhookId } = await beginLastTry()
  await resend(webhookId)
  receiver.release(500)
  await until(() => receiver.received.length > begun)
  assert.equal(await statusOf(webhookId), 'Enabled')
  receiver.release(204)
})

test('an endpoint is disabled together with its last delivery, or neither is', async (t) => {
  if (service.database.isCluster()) return t.skip('a cluster takes no triggers')
  let faults = 0
  const faulted = () => {
    faults += 1
  }
  const observe = { ...service.delivering.observe, faulted }
  const { receiver, webhookId } = await beginLastTry({ observe })
  await service.database.script(`
    create function refuse() returns trigger language plpgsql
      as $$ begin raise exception 'not now'; end $$;
    create trigger refuse before update of status on webhook
      for each row when (new.status = 'Disabled') execute function refuse()`)
  receiver.release(500)
  await until(() => faults > 0)
  assert.equal((await deliveriesOf(webhookId))[0]?.status, 'Pending')
  assert.equal(await statusOf(webhookId), 'Enabled')
  await service.database.script('drop trigger refuse on webhook; drop function refuse()')
  await service.stopDelivery()
  await freeEveryLease(service.database)
  receiver.answer = () => 500
  service.startDelivery()
  await until(async () => (await statusOf(webhookId)) === 'Disabled')
  assert.equal((await deliveriesOf(webhookId))[0]?.status, 'Failed')
})

test('what arrives after it was given up is on record as delivered', async () => {
  const receiver = await openSlowReceiver()
  const { webhookId } = await service.createWebhook(receiver.url, ['card.created'])
  await service.createCard()
  await until(() => receiver.received.length === 1)
  const body = { url: receiver.url, events: ['card.created'], status: 'Disabled' }
  await service.call('PUT', `/webhooks/${webhookId}`, { body })
  await until(async () => (await deliveriesOf(webhookId))[0]?.status === 'Failed')
  receiver.release(204)
  await until(async () => (await deliveriesOf(webhookId))[0]?.status === 'Delivered')
  assert.equal((await deliveriesOf(webhookId))[0]?.tries.length, 1)
})

test('after a webhook is deleted nothing more is begun, also of what was due before', async () => {
  const receiver = await openSlowReceiver()
  const { webhookId } = await service.createWebhook(receiver.url, ['card.created'])
  await Promise.all(Array.from({ length: 24 }, () => service.createCard()))
  await until(() => receiver.received.length === 16)
  assert.equal((await service.call('DELETE', `/webhooks/${webhookId}`)).status, 204)
  const left = async (condition: string) =>
    (await sql(service.database, `select from ${condition} and webhook_id = $1`, [webhookId]))
      .length
  await until(async () => (await left(`delivery where status = 'Pending'`)) === 0)
  receiver.release(204)
  await until(async () => (await left('delivery_queue where holder is not null')) === 0)
  assert.equal(receiver.received.length, 16)
  assert.equal(await left(`delivery where status = 'Delivered'`), 16)
})

test('a delivery whose event is kept no longer is given up and sends nothing', async () => {
  await service.stopDelivery()
  const receiver = await openReceiver()
  const { webhookId } = await service.createWebhook(receiver.url, ['card.created'])
  await service.createCard()
  await publishBatch(service.database)
  await sql(
    service.database,
    `delete from published_event
     where position in (select position from delivery where webhook_id = $1)`,
    [webhookId],
  )
  service.startDelivery()
  await until(async () => (await deliveriesOf(webhookId))[0]?.status === 'Failed')
  const outcomes = (await deliveriesOf(webhookId))[0]?.tries.map(({ outcome }) => outcome)
  assert.deepEqual(outcomes, ['event_not_kept'])
  assert.equal(receiver.received.length, 0)
  assert.equal(await statusOf(webhookId), 'Enabled')
})

test('an endpoint that fails is handed over as one that fails', async () => {
  const receiver = await openReceiver()
  const { webhookId } = await service.createWebhook(receiver.url, ['card.created'])
  receiver.answer = () => (receiver.received.length < 7 ? 500 : undefined)
  for (let card = 0; card < 6; card += 1) {
    await service.createCard()
    await until(() => receiver.received.length > card)
  }
  await until(() => receiver.received.length >= 7)
  await service.stopDelivery()
  const rows = await sql(
    service.database,
    'select failing, holder from delivery_queue where webhook_id = $1',
    [webhookId],
  )
  assert.deepEqual(rows, [{ failing: true, holder: null }])
  service.startDelivery()
})

test('what arrives after the endpoint was another’s does not leave the next event waiting', async () => {
  // What is published late would be this endpoint's as well.
  const unpublished = 'select from event where not published'
  await until(async () => (await sql(service.database, unpublished)).length === 0)
  const receiver = await openSlowReceiver()
  const { webhookId } = await service.createWebhook(receiver.url)
  const { publicToken } = await service.createCard()
  await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
  await until(() => receiver.received.length === 1)
  await until(async () => (await deliveriesOf(webhookId)).length === 2)
  const change = (text: string) => sql(service.database, text, [webhookId])
  // Another process took it over, failed with the same delivery, and let go of it until that is
  // due.
  await change('update delivery_queue set holder = null where webhook_id = $1')
  await change(`update delivery set failures = 9 where webhook_id = $1 and failures = 0`)
  for (const table of ['delivery_group', 'delivery_queue']) {
    await change(`update ${table} set due_at = now() + interval '1 hour' where webhook_id = $1`)
  }
  await change(`update delivery_queue set leased_until = '-infinity' where webhook_id = $1`)
  receiver.release(204)
  await until(() => receiver.received.length === 2)
  assert.deepEqual(
    receiver.received.map(({ message }) => message.data.sequence),
    [1, 2],
  )
  receiver.release(204)
})
