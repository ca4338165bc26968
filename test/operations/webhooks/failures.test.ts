import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { before, test } from 'node:test'
import { expireRecords } from '../../../src/operations/events/expire.ts'
import { createPost } from '../../../src/operations/webhooks/post.ts'
import { addressPolicy } from '../../../src/outbound/address-policy.ts'
import { enterAll } from '../../support/audit.ts'
import { sql } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { ageTries, type DeliveryService, openDeliveryService } from './delivery-service.ts'
import { openReceiver, type Receiver } from './receiver.ts'

let service: DeliveryService
before(async () => {
  service = await openDeliveryService()
})

const deliveriesOf = async (webhookId: string) =>
  (await service.call('GET', `/webhooks/${webhookId}/deliveries`)).json

test('a failed delivery is tried again after 1 s, then 2, every try is on record, and the card waits', async () => {
  /** From the end of a failed attempt to the instant that its retry was due, in milliseconds. */
  const planned: number[] = []
  const receiver = await openReceiver(async () => {
    if (receiver.received.length > 3) return 204
    // While an attempt is under way, its delivery still says when it was due.
    const delivery = (await deliveriesOf(webhookId)).at(-1)
    const last = delivery.tries.at(-1)
    if (last) planned.push(Date.parse(delivery.nextTryAt) - Date.parse(last.at) - last.durationMs)
    return planned.length < 2 ? 503 : 204
  })
  const { webhookId } = await service.createWebhook(receiver.url)
  const { publicToken } = await service.createCard()
  await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
  await until(() => receiver.received.length === 4)
  const sequences = receiver.received.map(({ message }) => message.data.sequence)
  assert.deepEqual(sequences, [1, 1, 1, 2])
  const [one, two, three] = receiver.received.map(({ at }) => at)
  assert.ok(Number(two) - Number(one) > 790)
  assert.ok(Number(three) - Number(two) > 1_590)
  // A busy machine takes a moment to store what came of an attempt.
  for (const [at, most] of [1_200, 2_400].entries()) {
    const ms = planned[at] ?? Number.NaN
    assert.ok(ms > (most * 2) / 3 - 10 && ms < most + 5_000, `${ms}`)
  }
  await until(async () => (await deliveriesOf(webhookId))[0]?.status === 'Delivered')
  const [, first] = await deliveriesOf(webhookId)
  assert.deepEqual(
    first.tries.map(({ outcome, statusCode }: { outcome: string; statusCode: number }) => [
      outcome,
      statusCode,
    ]),
    [
      ['bad_status', 503],
      ['bad_status', 503],
      ['delivered', 204],
    ],
  )
})

test('an endpoint that failed for three days is disabled, told to the operator, and can be mended', async () => {
  const receiver = await openReceiver(() => 500)
  const { webhookId } = await service.createWebhook(receiver.url)
  const { publicToken } = await service.createCard()
  await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
  await until(async () => (await deliveriesOf(webhookId))[1]?.tries.length === 1)
  await ageTries(service, webhookId)
  const webhook = async () => (await service.call('GET', `/webhooks/${webhookId}`)).json
  await until(async () => (await webhook()).status === 'Disabled')
  assert.equal((await webhook()).disabledReason, 'not_delivered')
  await until(async () =>
    (await deliveriesOf(webhookId)).every(({ status }: { status: string }) => status === 'Failed'),
  )
  const metrics = await service.call('GET', '//metrics', { listener: 'private', token: null })
  assert.match(metrics.text, /^pinfold_webhooks_disabled_total 1$/m)
  assert.match(metrics.text, /^pinfold_delivery_failures_total\{outcome="bad_status"\} \d+$/m)
  for (const path of ['replay', 'deliveries/1/resend']) {
    const body = path === 'replay' ? { since: '2026-01-01T00:00:00Z' } : {}
    const refused = await service.call('POST', `/webhooks/${webhookId}/${path}`, { body })
    assert.equal(refused.status, 422)
  }
  receiver.answer = () => 204
  const body = { url: receiver.url, events: ['*'] }
  await service.call('PUT', `/webhooks/${webhookId}`, { body })
  const since = new Date(Date.now() - 600_000).toISOString()
  await service.call('POST', `/webhooks/${webhookId}/replay`, { body: { since } })
  await until(async () =>
    (await deliveriesOf(webhookId)).every(
      ({ status }: { status: string }) => status === 'Delivered',
    ),
  )
  const sequences = receiver.received
    .filter(({ message }) => message.data.publicToken === publicToken)
    .map(({ message }) => message.data.sequence)
  assert.deepEqual([...new Set(sequences)], [1, 2])
})

test('a receiver that says when to come back is left alone until then, for six hours at most', async () => {
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString()
  for (const [status, retryAfter, least, most] of [
    [503, '3600', 3_500, 3_700],
    [429, inAnHour, 3_500, 3_700],
    [503, '999999999', 21_000, 22_000],
    [429, 'tomorrow', 0, 10],
    [503, '-1', 0, 10],
    [500, '3600', 0, 10],
    [429, 'Thu, 01 Jan 2026 00:00:00 GMT', 0, 10],
  ] as const) {
    const receiver = await openReceiver((_, response) => {
      response.writeHead(status, { 'retry-after': retryAfter }).end()
      return undefined
    })
    const { webhookId } = await service.createWebhook(receiver.url)
    await service.createCard()
    await until(async () => (await deliveriesOf(webhookId))[0]?.tries.length > 0)
    const [delivery] = await deliveriesOf(webhookId)
    const seconds = (Date.parse(delivery.nextTryAt) - Date.parse(delivery.tries.at(-1).at)) / 1_000
    assert.ok(seconds >= least && seconds <= most, `${status} ${retryAfter}: ${seconds} s`)
    await service.call('DELETE', `/webhooks/${webhookId}`)
  }
})

test('no event is delivered while a receiver asks to wait, until a ping succeeds', async () => {
  let isBack = false
  const receiver = await openReceiver((_, response) => {
    if (isBack) return 204
    response.writeHead(503, { 'retry-after': '3600' }).end()
    return undefined
  })
  const { webhookId } = await service.createWebhook(receiver.url)
  const { publicToken: first } = await service.createCard()
  await until(async () => (await deliveriesOf(webhookId))[0]?.tries.length > 0)
  // A webhook that does not rest gets the events that this one waits with.
  const other = await openReceiver(() => 204)
  const { webhookId: otherId } = await service.createWebhook(other.url)
  const tokens = [await service.createCard(), await service.createCard()].map(
    ({ publicToken }) => publicToken,
  )
  await until(() => other.received.length >= 2)
  const waiting = await deliveriesOf(webhookId)
  assert.equal(waiting.length, 3)
  const soonest = Date.now() + 3_400_000
  for (const { nextTryAt } of waiting) assert.ok(Date.parse(nextTryAt) > soonest, nextTryAt)
  assert.equal(receiver.received.length, 1)
  isBack = true
  assert.equal((await service.call('POST', `/webhooks/${webhookId}/ping`)).status, 202)
  const sentTo = (publicToken: string) =>
    receiver.received.filter(({ message }) => message.data.publicToken === publicToken).length
  await until(() => tokens.every((token) => sentTo(token) === 1))
  // The delivery that was answered so has its own time yet.
  assert.equal(sentTo(first), 1)
  const pending = async () =>
    (await deliveriesOf(webhookId)).filter(({ status }: { status: string }) => status === 'Pending')
  await until(async () => (await pending()).length === 1)
  assert.ok(Date.parse((await pending())[0].nextTryAt) > soonest)
  for (const id of [webhookId, otherId]) await service.call('DELETE', `/webhooks/${id}`)
})

test('the answer of an address that a webhook no longer has holds nothing back', async () => {
  const receiver = await openReceiver((_, response) => {
    response.writeHead(429, { 'retry-after': '3600' }).end()
    return undefined
  })
  const { webhookId } = await service.createWebhook(receiver.url)
  await service.createCard()
  await until(async () => (await deliveriesOf(webhookId))[0]?.tries.length > 0)
  const mended = await openReceiver(() => 204)
  const body = { url: mended.url, events: ['*'] }
  assert.equal((await service.call('PUT', `/webhooks/${webhookId}`, { body })).status, 200)
  const { publicToken } = await service.createCard()
  await until(() => mended.received.some(({ message }) => message.data.publicToken === publicToken))
  await service.call('DELETE', `/webhooks/${webhookId}`)
})

test('an endpoint that answers 410 wants no more: it is disabled at once, and says why', async () => {
  const receiver = await openReceiver(() => 410)
  const { webhookId } = await service.createWebhook(receiver.url)
  await service.createCard()
  const webhook = async () => (await service.call('GET', `/webhooks/${webhookId}`)).json
  await until(async () => (await webhook()).status === 'Disabled')
  assert.equal((await webhook()).disabledReason, 'receiver_gone')
  const [delivery] = await deliveriesOf(webhookId)
  assert.equal(delivery.status, 'Failed')
  assert.equal(delivery.tries[0].statusCode, 410)
  const set = async (status: string) => {
    const body = { url: receiver.url, events: ['*'], status }
    return (await service.call('PUT', `/webhooks/${webhookId}`, { body })).json.disabledReason
  }
  assert.equal(await set('Disabled'), 'receiver_gone')
  assert.equal(await set('Enabled'), undefined)
  assert.equal(await set('Disabled'), 'client')
})

test('an endpoint that never answers delays no other endpoint', async () => {
  const healthy = await openReceiver()
  await service.createWebhook(healthy.url, ['pin.unblocked'])
  const webhookIds: string[] = []
  const silent: Receiver[] = []
  for (let endpoint = 0; endpoint < 5; endpoint += 1) {
    const receiver = await openReceiver(() => undefined)
    silent.push(receiver)
    webhookIds.push((await service.createWebhook(receiver.url, ['pin.unblocked'])).webhookId)
  }
  const { publicToken: first } = await service.createCard()
  await service.call('POST', `/card-pin/${first}/pin/unblock`)
  await until(() => silent.every(({ received }) => received.length === 1))
  for (let card = 0; card < 10; card += 1) {
    const { publicToken } = await service.createCard()
    await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
    await until(() =>
      healthy.received.some(({ message }) => message.data.publicToken === publicToken),
    )
  }
  // The first attempt at each of the others is still under way.
  for (const webhookId of webhookIds) {
    assert.deepEqual((await deliveriesOf(webhookId)).at(-1).tries, [])
  }
})

test('events, deliveries and what is left of deleted webhooks are forgotten in small steps', async () => {
  const receiver = await openReceiver()
  const { webhookId } = await service.createWebhook(receiver.url, ['card.created'])
  const kept = await service.createWebhook(receiver.url, ['card.created'])
  await service.createCard()
  await until(() => receiver.received.length === 2)
  await until(async () => (await deliveriesOf(kept.webhookId))[0]?.status === 'Delivered')
  await service.call('DELETE', `/webhooks/${webhookId}`)
  const age = `now() - interval '31 days'`
  await sql(service.database, `update event set occurred_at = ${age}`)
  await sql(service.database, `update published_event set published_at = ${age}`)
  await sql(service.database, `update delivery set created_at = ${age}`)
  await sql(service.database, `update webhook set deleted_at = ${age} where deleted_at is not null`)
  const pending = await sql(service.database, `select from delivery where status = 'Pending'`)
  const { publicToken } = await service.createCard()
  await until(() => receiver.received.length === 3)
  await enterAll(service.database)
  await expireRecords(service.database, { eventDays: 30, attemptDays: 400, paymentDays: 400 })
  const left = async (table: string) => (await sql(service.database, `select from ${table}`)).length
  assert.equal(await left('event'), 1)
  assert.ok((await left('published_event')) <= 1 + pending.length)
  assert.deepEqual(
    await sql(service.database, `select from webhook where webhook_id = $1`, [webhookId]),
    [],
  )
  assert.deepEqual(
    (await service.call('GET', '/events?types=card.created')).json.at(-1).data.publicToken,
    publicToken,
  )
})

test('what is old is forgotten also behind hundreds that are still to be delivered', async () => {
  const client = 'a-client-of-its-own'
  const webhookId = '00000000-0000-4000-8000-000000000001'
  const count = 1_200
  const age = `now() - interval '31 days'`
  const { database } = service
  await sql(database, `insert into feed_head values ($1, ${count})`, [client])
  await sql(
    database,
    `insert into webhook (client_id, webhook_id, url, events, secret)
     values ($1, $2, 'http://127.0.0.1:9/', array['*'], '')`,
    [client, webhookId],
  )
  await sql(
    database,
    `insert into published_event
       (client_id, position, event_id, public_token, sequence, type, occurred_at, details, published_at)
     select $1, n, gen_random_uuid(), '1', n, 'pin.set', ${age}, '{}', ${age}
     from generate_series(1, ${count}) as n`,
    [client],
  )
  await sql(
    database,
    `insert into delivery
       (client_id, webhook_id, position, event_id, type, group_key, status, created_at)
     select client_id, $2, position, event_id, type, public_token,
       case when position <= ${count / 2} then 'Pending' else 'Delivered' end, published_at
     from published_event where client_id = $1`,
    [client, webhookId],
  )
  await enterAll(database)
  await expireRecords(database, { eventDays: 30, attemptDays: 400, paymentDays: 400 })
  for (const table of ['published_event', 'delivery']) {
    const text = `select from ${table} where client_id = $1`
    assert.equal((await sql(database, text, [client])).length, count / 2, table)
  }
})

test('an unrequested upgrade by an endpoint is a failed attempt, and no more', async (t) => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
    })
  }).listen(0, '127.0.0.1')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const post = createPost({
    judgeAddress: addressPolicy({ allowCidrs: ['127.0.0.0/8'], ownPorts: [], ports: null }),
    resolve: async () => [],
    timeoutMs: 60_000,
    httpsOnly: false,
  })
  const stop = new AbortController()
  const outcome = await post(`http://127.0.0.1:${address.port}/`, {}, '{}', stop.signal)
  assert.deepEqual(outcome, { outcome: 'connection_failed' })
})
