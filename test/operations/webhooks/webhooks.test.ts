import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { type DeliveryService, openDeliveryService } from './delivery-service.ts'
import { isSignedWith, openReceiver } from './receiver.ts'

let service: DeliveryService
before(async () => {
  // Every receiver answers here: a second try would only be that of a busy machine.
  service = await openDeliveryService()
})

/** Until every event has its place: what is placed earlier does not go to what is changed later. */
const untilPublished = () =>
  until(async () => {
    const rows = await sql(service.database, 'select sequence from event where not published')
    return rows.length === 0
  })

const tokenOf = ({ message }: { message: { data: Record<string, unknown> } }) =>
  message.data.publicToken

test('an event reaches a webhook once, signed, in the form of Standard Webhooks', async () => {
  const receiver = await openReceiver()
  const { secret } = await service.createWebhook(receiver.url)
  const { publicToken } = await service.createCard()
  await until(() => receiver.received.length > 0)
  const [received] = receiver.received
  assert.ok(received && isSignedWith(secret, received))
  assert.ok(!isSignedWith(`whsec_${Buffer.alloc(32).toString('base64')}`, received))
  assert.equal(received.headers['content-type'], 'application/json')
  assert.ok(Math.abs(Number(received.headers['webhook-timestamp']) - Date.now() / 1_000) < 60)
  assert.equal(received.message.type, 'card.created')
  assert.deepEqual(received.message.data, {
    publicToken,
    sequence: 1,
    cardProduct: 1001,
    cardType: 'Virtual',
    cardStatusCode: '00',
  })
  assert.equal(receiver.received.length, 1)
})

test('events of a card arrive in their order, and only those that are asked for', async () => {
  const all = await openReceiver()
  const some = await openReceiver()
  await service.createWebhook(all.url)
  await service.createWebhook(some.url, ['pin.unblocked'])
  const { publicToken } = await service.createCard()
  for (let turn = 0; turn < 5; turn += 1) {
    await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
    await service.call('PUT', `/card-cvv/${publicToken}/cvv/status`, {
      body: { status: 'Blocked' },
    })
  }
  const ofCard = () => all.received.filter((each) => tokenOf(each) === publicToken)
  await until(() => ofCard().length === 11 && some.received.length === 5)
  const sequences = ofCard().map(({ message }) => message.data.sequence)
  assert.deepEqual(sequences, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  assert.ok(some.received.every(({ message }) => message.type === 'pin.unblocked'))
})

test('a secret is shown once: not in a replayed answer, not in any read, and stored sealed', async () => {
  const receiver = await openReceiver()
  const options = {
    body: { url: receiver.url, events: ['pin.blocked'], description: 'For the night shift' },
    headers: { 'idempotency-key': randomUUID() },
  }
  const first = await service.call('POST', '/webhooks', options)
  const again = await service.call('POST', '/webhooks', options)
  assert.match(first.json.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  const { secret: _, ...webhook } = first.json
  assert.equal(again.status, 201)
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.deepEqual(again.json, webhook)
  const read = await service.call('GET', `/webhooks/${webhook.webhookId}`)
  assert.deepEqual(read.json, webhook)
  const rotation = { headers: { 'idempotency-key': randomUUID() } }
  const path = `/webhooks/${webhook.webhookId}/rotate-secret`
  const rotated = await service.call('POST', path, rotation)
  assert.match(rotated.json.secret, /^whsec_/)
  const replayed = await service.call('POST', path, rotation)
  assert.deepEqual(replayed.json, { webhookId: webhook.webhookId })
  const rows = await sql<{ row: string }>(
    service.database,
    'select webhook::text as row from webhook',
  )
  for (const { row } of rows) {
    for (const text of [first.json.secret, rotated.json.secret, 'For the night shift']) {
      assert.ok(!row.includes(Buffer.from(text).toString('hex')) && !row.includes(text))
    }
  }
})

test('for 24 hours after a rotation both secrets sign, then the new one alone', async () => {
  const receiver = await openReceiver()
  const { secret, webhookId } = await service.createWebhook(receiver.url, ['pin.set'])
  const rotated = await service.call('POST', `/webhooks/${webhookId}/rotate-secret`)
  await service.call('POST', `/webhooks/${webhookId}/ping`)
  await until(() => receiver.received.length === 1)
  // A round of deliveries that is under way signs as it began.
  await service.stopDelivery()
  await sql(
    service.database,
    `update webhook_former_secret set signs_until = now() where webhook_id = $1`,
    [webhookId],
  )
  service.startDelivery()
  await service.call('POST', `/webhooks/${webhookId}/ping`)
  await until(() => receiver.received.length === 2)
  const [during, afterwards] = receiver.received
  assert.ok(during && afterwards)
  assert.ok(isSignedWith(secret, during) && isSignedWith(rotated.json.secret, during))
  assert.ok(!isSignedWith(secret, afterwards) && isSignedWith(rotated.json.secret, afterwards))
})

test('a secret that is changed again within 24 hours signs on for its own 24 hours', async () => {
  const receiver = await openReceiver()
  const { secret, webhookId } = await service.createWebhook(receiver.url, ['pin.set'])
  const rotate = () => service.call('POST', `/webhooks/${webhookId}/rotate-secret`)
  const secrets = [secret]
  for (let turn = 0; turn < 5; turn += 1) secrets.push((await rotate()).json.secret)
  const refused = await rotate()
  assert.equal(refused.status, 429)
  const waitSeconds = Number(refused.headers['retry-after'])
  assert.ok(waitSeconds > 86_000 && waitSeconds <= 86_400, `${waitSeconds}`)
  await service.call('POST', `/webhooks/${webhookId}/ping`)
  await until(() => receiver.received.length === 1)
  const [ping] = receiver.received
  assert.ok(ping)
  for (const each of secrets) assert.ok(isSignedWith(each, ping))
  await sql(
    service.database,
    `update webhook_former_secret set signs_until = now() where webhook_id = $1
     and signs_until = (select min(signs_until) from webhook_former_secret where webhook_id = $1)`,
    [webhookId],
  )
  assert.equal((await rotate()).status, 200)
  const rows = await sql<{ row: string }>(
    service.database,
    'select webhook_former_secret::text as row from webhook_former_secret',
  )
  for (const each of secrets) {
    const hex = Buffer.from(each).toString('hex')
    assert.ok(rows.every(({ row }) => !row.includes(each) && !row.includes(hex)))
  }
})

test('a ping is sent once and what came of it is on record', async () => {
  const receiver = await openReceiver(() => 500)
  const { webhookId } = await service.createWebhook(receiver.url, ['pin.set'])
  const ping = await service.call('POST', `/webhooks/${webhookId}/ping`)
  assert.equal(ping.status, 202)
  const list = async () => (await service.call('GET', `/webhooks/${webhookId}/deliveries`)).json
  await until(async () => (await list())[0]?.status === 'Failed')
  const [delivery] = await list()
  assert.equal(delivery.eventId, ping.json.eventId)
  assert.equal(delivery.type, 'webhook.ping')
  assert.equal(delivery.tries.length, 1)
  assert.deepEqual([delivery.tries[0].outcome, delivery.tries[0].statusCode], ['bad_status', 500])
  assert.deepEqual(receiver.received[0]?.message.data, { webhookId })
})

test('a client sees its own webhooks alone: another’s is answered like none', async () => {
  const { webhookId } = await service.createWebhook('http://127.0.0.1:9/', ['pin.set'])
  const none = randomUUID()
  const requests: readonly (readonly [string, string, object?])[] = [
    ['GET', ''],
    ['PUT', '', { url: 'http://127.0.0.1:9/', events: ['*'] }],
    ['DELETE', ''],
    ['POST', '/rotate-secret'],
    ['POST', '/ping'],
    ['GET', '/deliveries'],
    ['POST', '/deliveries/1/resend'],
    ['POST', '/replay', { since: '2026-11-20T08:00:00Z' }],
  ]
  for (const [method, path, body] of requests) {
    const headers = { 'x-request-id': 'same' }
    const options = { as: 'otherClient', headers, ...(body && { body }) } as const
    const others = await service.call(method, `/webhooks/${webhookId}${path}`, options)
    const nobodys = await service.call(method, `/webhooks/${none}${path}`, options)
    assert.equal(others.status, 404, `${method} ${path}`)
    assert.equal(others.text, nobodys.text)
  }
  const listed = await service.call('GET', '/webhooks', { as: 'otherClient' })
  assert.ok(!listed.text.includes(webhookId))
})

test('a webhook is changed, disabled and deleted by its client', async () => {
  const receiver = await openReceiver()
  const { webhookId } = await service.createWebhook(receiver.url)
  const path = `/webhooks/${webhookId}`
  const put = (status: string) =>
    service.call('PUT', path, { body: { url: receiver.url, events: ['card.created'], status } })
  assert.equal((await put('Disabled')).json.status, 'Disabled')
  await service.createCard()
  await untilPublished()
  assert.equal((await put('Enabled')).json.status, 'Enabled')
  const { publicToken } = await service.createCard()
  await until(() => receiver.received.length === 1)
  assert.deepEqual(receiver.received.map(tokenOf), [publicToken])
  assert.equal((await service.call('DELETE', path)).status, 204)
  assert.equal((await service.call('DELETE', path)).status, 404)
  const other = await openReceiver()
  await service.createWebhook(other.url, ['card.created'])
  await service.createCard()
  await until(() => other.received.length === 1)
  assert.equal(receiver.received.length, 1)
})

test('replay delivers everything since an instant that was not delivered, and nothing twice', async () => {
  const receiver = await openReceiver()
  const { publicToken: before } = await service.createCard()
  // Its instant is of a millisecond that has passed.
  await new Promise((resolve) => setTimeout(resolve, 5))
  const since = new Date().toISOString()
  const { publicToken: missed } = await service.createCard()
  await untilPublished()
  const { webhookId } = await service.createWebhook(receiver.url, ['card.created'])
  const { publicToken: got } = await service.createCard()
  await until(() => receiver.received.length === 1)
  const replay = await service.call('POST', `/webhooks/${webhookId}/replay`, { body: { since } })
  assert.deepEqual([replay.status, replay.json], [202, { since }])
  for (const never of ['0000-01-01T00:00:00Z', '2026-02-30T00:00:00Z']) {
    const body = { since: never }
    const refused = await service.call('POST', `/webhooks/${webhookId}/replay`, { body })
    assert.deepEqual([refused.status, refused.json.errors[0].pointer], [422, '/since'])
  }
  await until(() => receiver.received.length === 2)
  const { publicToken: next } = await service.createCard()
  await until(() => receiver.received.some((each) => tokenOf(each) === next))
  assert.deepEqual(receiver.received.map(tokenOf), [got, missed, next])
  assert.ok(!receiver.received.some((each) => tokenOf(each) === before))
})

test('a delivery is sent again under the same id', async () => {
  const receiver = await openReceiver()
  const { webhookId } = await service.createWebhook(receiver.url, ['card.created'])
  await service.createCard()
  const list = async () => (await service.call('GET', `/webhooks/${webhookId}/deliveries`)).json
  await until(async () => (await list())[0]?.status === 'Delivered')
  const [{ deliveryId }] = await list()
  const path = `/webhooks/${webhookId}/deliveries/${deliveryId}/resend`
  assert.equal((await service.call('POST', path)).status, 202)
  await until(() => receiver.received.length === 2)
  assert.equal(receiver.received[0]?.id, receiver.received[1]?.id)
  await until(async () => (await list())[0]?.tries.length === 2)
})

test('a ping is not sent again, and the answer says what to do instead', async () => {
  const receiver = await openReceiver()
  const { webhookId } = await service.createWebhook(receiver.url, ['card.created'])
  await service.call('POST', `/webhooks/${webhookId}/ping`)
  await until(() => receiver.received.length === 1)
  const [ping] = (await service.call('GET', `/webhooks/${webhookId}/deliveries`)).json
  const path = `/webhooks/${webhookId}/deliveries/${ping.deliveryId}/resend`
  const { json, status } = await service.call('POST', path)
  assert.deepEqual([ping.type, status, json.code], ['webhook.ping', 404, 'not_found'])
  assert.match(json.detail, /ping the webhook/)
})
