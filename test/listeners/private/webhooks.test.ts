/**
 * What operators see of the webhooks of every client, and have them do: on record, with the reason.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import {
  type DeliveryService,
  openDeliveryService,
} from '../../operations/webhooks/delivery-service.ts'
import { openReceiver, type Receiver } from '../../operations/webhooks/receiver.ts'
import { type Answer, sql } from '../../support/service.ts'
import { until } from '../../support/until.ts'

let service: DeliveryService
before(async () => {
  service = await openDeliveryService()
})

const ask = (method: string, path: string, body?: object, key?: string): Promise<Answer> =>
  service.call(method, `//${path}`, {
    as: 'admin',
    listener: 'private',
    body,
    ...(key !== undefined && { headers: { 'idempotency-key': key } }),
  })

const reason = 'The receiver was down.'

/** A webhook that has got the event of a card's creation. */
const delivered = async () => {
  const receiver = await openReceiver()
  const { webhookId } = await service.createWebhook(receiver.url)
  await service.createCard()
  await until(() => receiver.received.length > 0)
  const path = `clients/demo-client/webhooks/${webhookId}`
  await until(async () => {
    const [delivery] = (await ask('GET', `${path}/deliveries`)).json
    return delivery?.status === 'Delivered'
  })
  return { receiver, webhookId, path }
}

test('webhooks of every client are listed, without their secrets, and one is read with what it got', async () => {
  const { path, webhookId } = await delivered()
  const { webhookId: another } = (
    await service.call('POST', '/webhooks', {
      as: 'otherClient',
      body: { url: 'http://127.0.0.1:9/other', events: ['*'] },
    })
  ).json
  const listed = await ask('GET', 'webhooks')
  const ids = listed.json.map((each: { webhookId: string }) => each.webhookId)
  assert.ok(ids.includes(webhookId) && ids.includes(another))
  assert.doesNotMatch(listed.text, /whsec_/)
  const ofOther = await ask('GET', 'webhooks?clientId=demo-other-client')
  assert.deepEqual(
    ofOther.json.map((each: Record<string, unknown>) => [each.clientId, each.webhookId]),
    [['demo-other-client', another]],
  )
  const read = await ask('GET', path)
  assert.deepEqual([read.json.status, read.json.consecutiveFailures], ['Enabled', 0])
  const [delivery] = (await ask('GET', `${path}/deliveries`)).json
  assert.deepEqual(
    [delivery.type, delivery.status, delivery.tries[0].outcome],
    ['card.created', 'Delivered', 'delivered'],
  )
  assert.match(delivery.publicToken, /^[1-9][0-9]{9}$/)
})

test('a webhook shows what became of the events of the last day, and what failed last', async () => {
  const receiver: Receiver = await openReceiver(() => (receiver.received.length > 1 ? 500 : 204))
  const { webhookId } = await service.createWebhook(receiver.url)
  await service.createCard()
  await until(() => receiver.received.length === 1)
  await service.createCard()
  const path = `clients/demo-client/webhooks/${webhookId}`
  const read = async () => (await ask('GET', path)).json
  await until(async () => (await read()).lastDay.lastFailure !== null)
  const { clientName, lastDay } = await read()
  const { at, deliveryId, ...failure } = lastDay.lastFailure
  assert.ok(Date.parse(at) <= Date.now())
  assert.deepEqual(
    { ...lastDay, lastFailure: failure },
    {
      delivered: 1,
      retrying: 1,
      waiting: 0,
      failed: 0,
      lastFailure: { type: 'card.created', outcome: 'bad_status', statusCode: 500 },
    },
  )
  const [newest] = (await ask('GET', `${path}/deliveries`)).json
  assert.equal(deliveryId, newest.deliveryId)
  const [listed] = (await ask('GET', `webhooks?clientId=demo-client`)).json.filter(
    (each: { webhookId: string }) => each.webhookId === webhookId,
  )
  assert.deepEqual([listed.clientName, listed.lastDay], [clientName, lastDay])
  await sql(
    service.database,
    "update delivery set created_at = now() - interval '25 hours' returning position",
  )
  const past = (await read()).lastDay
  assert.deepEqual([past.delivered, past.retrying, past.lastFailure], [0, 0, null])
})

test('pages of all webhooks follow each other without a gap', async () => {
  const listed: string[] = []
  let path: string | undefined = 'webhooks?limit=1'
  while (path !== undefined) {
    const answer: Answer = await ask('GET', path)
    listed.push(...answer.json.map((each: { webhookId: string }) => each.webhookId))
    path = /^<\/([^>]+)>/.exec(String(answer.headers.link ?? ''))?.[1]
  }
  const all = (await ask('GET', 'webhooks')).json.map(
    (each: { webhookId: string }) => each.webhookId,
  )
  assert.ok(all.length > 1)
  assert.deepEqual(listed, all)
})

test('a delivery is sent again once for one idempotency key, and the act is on record with its reason', async () => {
  const { path, receiver, webhookId } = await delivered()
  const [{ deliveryId, eventId }] = (await ask('GET', `${path}/deliveries`)).json
  const key = randomUUID()
  for (const replayed of [undefined, 'true']) {
    const again = await ask('POST', `${path}/deliveries/${deliveryId}/resend`, { reason }, key)
    assert.deepEqual([again.status, again.json], [202, { eventId }], again.text)
    assert.equal(again.headers['idempotency-replayed'], replayed)
  }
  await until(() => receiver.received.length === 2)
  assert.equal(receiver.received[1]?.headers['webhook-id'], eventId)
  const acts: { act: string; clientId: string; subject: string; details: object }[] = (
    await ask('GET', 'acts')
  ).json
  const ours = acts.filter(({ act, details }) => {
    return act === 'delivery_resent' && JSON.stringify(details).includes(webhookId)
  })
  assert.deepEqual(
    ours.map(({ clientId, details, subject }) => ({ clientId, details, subject })),
    [{ clientId: 'demo-admin', subject: 'demo-client', details: { webhookId, reason, eventId } }],
  )
})

test('what was not delivered is replayed, and a webhook is switched off and on, each with a reason', async () => {
  const { path, receiver } = await delivered()
  const off = await ask('POST', `${path}/disable`, { reason })
  assert.equal(off.status, 204, off.text)
  const disabled = (await ask('GET', path)).json
  assert.deepEqual([disabled.status, disabled.disabledReason], ['Disabled', 'operator'])
  const since = new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z')
  assert.equal((await ask('POST', `${path}/replay`, { since, reason })).status, 422)
  const { publicToken } = await service.createCard()
  assert.equal((await ask('POST', `${path}/enable`, { reason })).status, 204)
  const read = (await ask('GET', path)).json
  assert.deepEqual(
    [read.status, read.events, read.disabledAt, read.disabledReason],
    ['Enabled', ['*'], null, null],
  )
  const asked = await ask('POST', `${path}/replay`, { since, reason })
  assert.equal(asked.status, 202, asked.text)
  await until(() =>
    receiver.received.some(({ message }) => message.data.publicToken === publicToken),
  )
})

test('a webhook is found under its own client alone, and each act needs a reason', async () => {
  const { path, webhookId } = await delivered()
  const strangers = [
    `clients/demo-other-client/webhooks/${webhookId}`,
    `clients/demo-client/webhooks/${randomUUID()}`,
    'clients/demo-client/webhooks/1',
  ]
  for (const stranger of strangers) {
    assert.equal((await ask('GET', stranger)).status, 404, stranger)
    assert.equal((await ask('GET', `${stranger}/deliveries`)).status, 404, stranger)
    assert.equal((await ask('POST', `${stranger}/disable`, { reason })).status, 404, stranger)
  }
  for (const act of ['disable', 'enable', 'deliveries/1/resend']) {
    for (const body of [{}, { reason: '' }, { reason: 'line\nbreak' }]) {
      assert.equal((await ask('POST', `${path}/${act}`, body)).status, 422, act)
    }
  }
  assert.equal((await ask('POST', `${path}/deliveries/999999/resend`, { reason })).status, 404)
})
