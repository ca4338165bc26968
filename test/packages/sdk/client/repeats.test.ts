import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import {
  CallFailed,
  type CreateCard,
  createPinfold,
  type Pinfold,
  RateLimited,
  Unavailable,
} from '../../../../packages/sdk/client/client.ts'
import { parseRetryAfter } from '../../../../packages/sdk/client/transport/content.ts'
import { openServedService, type ServedService } from '../../../support/served-service.ts'
import { createRecorder, type Mishap, type Recorder, refusal } from './recorder.ts'

let service: ServedService
let recorder: Recorder
let pinfold: Pinfold
let publicToken: string
before(async () => {
  service = await openServedService()
  publicToken = (await service.createCard()).publicToken
})
beforeEach(async () => {
  recorder = createRecorder()
  pinfold = createPinfold({ ...service.sandbox, fetch: recorder.fetch })
  await pinfold.products.list().page()
  recorder.sent.length = 0
})

const card = (customerReference: string): CreateCard => ({
  cardType: 'Virtual',
  cardProduct: 1001,
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
  address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
  customerReference,
})

const keysSent = (): (string | null)[] =>
  recorder.sent.map(({ headers }) => headers.get('idempotency-key'))

const mishaps: [title: string, mishaps: Mishap[]][] = [
  ['the answer is lost, twice', ['answer lost', 'answer lost']],
  ['the request is lost', ['request lost']],
  ['the service is away', [refusal(503, 'unavailable', 0)]],
  ['the service has a fault', [refusal(500, 'internal_error')]],
  ['there are too many calls', [refusal(429, 'rate_limited', 0)]],
  ['the first try still runs', ['answer lost', refusal(409, 'idempotency_key_in_use', 0)]],
  ['something before the service is at fault', [new Response('<html>', { status: 502 })]],
]

for (const [title, befalls] of mishaps) {
  test(`one card is made, under one key, when ${title}`, async () => {
    recorder.befall('/cards', ...befalls)
    const { publicToken: made } = await pinfold.cards.create(card(title.slice(0, 25)))
    const keys = keysSent()
    assert.equal(keys.length, befalls.length + 1)
    assert.equal(new Set(keys).size, 1)
    assert.match(keys[0] ?? '', /^[0-9a-f-]{36}$/)
    const query = { customerReference: title.slice(0, 25) }
    const { items } = await pinfold.cards.list(query).page()
    assert.deepEqual(
      items.map((each) => each.publicToken),
      [made],
    )
  })
}

test('each call has a key of its own, or that of its caller', async () => {
  await pinfold.pins.unblock(publicToken)
  await pinfold.pins.unblock(publicToken, {}, { idempotencyKey: 'mine-1' })
  const [first, readFirst, second, readSecond] = keysSent()
  assert.ok(first)
  assert.equal(second, 'mine-1')
  assert.deepEqual([readFirst, readSecond], [null, null])
  const idempotencyKey = 'two\nlines'
  await assert.rejects(async () => pinfold.pins.unblock(publicToken, {}, { idempotencyKey }), {
    code: 'invalid_argument',
  })
})

test('a webhook whose first answer was lost is there once, and gets its secret by a rotation', async () => {
  recorder.befall('/webhooks', 'answer lost')
  const url = 'http://127.0.0.1:9/never'
  const { secret, webhookId } = await pinfold.webhooks.create({ url, events: ['*'] })
  assert.equal(secret, undefined)
  assert.equal((await pinfold.webhooks.list().page()).items.length, 1)
  assert.match((await pinfold.webhooks.rotateSecret(webhookId)).secret ?? '', /^whsec_/)
})

test('a read is repeated, as often as it is allowed to be', async () => {
  recorder.befall('/status', 'answer lost', 'request lost')
  assert.equal((await pinfold.pins.retrieveStatus(publicToken)).status, 'Unblocked')
  recorder.befall('/status', 'request lost')
  await assert.rejects(pinfold.pins.retrieveStatus(publicToken, { retries: 0 }), (error) => {
    assert.ok(error instanceof CallFailed)
    assert.equal(error.code, 'connection_failed')
    return true
  })
  assert.equal(recorder.sent.length, 4)
})

test('a disclosure whose answer is lost is not repeated', async () => {
  recorder.befall('/pin', 'answer lost')
  await assert.rejects(pinfold.pins.reveal(publicToken), { code: 'connection_failed' })
  recorder.befall('/encrypted', 'answer lost')
  await assert.rejects(pinfold.cardData.relay(publicToken, {}), { code: 'connection_failed' })
  assert.equal(recorder.sent.length, 2)
  recorder.befall('/pin', refusal(503, 'unavailable', 0))
  assert.match((await pinfold.pins.reveal(publicToken)).pin, /^[0-9]{4}$/)
})

test('a deletion is sent once', async () => {
  recorder.befall('/webhooks/1', refusal(503, 'unavailable', 0))
  await assert.rejects(pinfold.webhooks.delete('1'), Unavailable)
  assert.equal(recorder.sent.length, 1)
})

test('a refusal for what was sent is not repeated', async () => {
  await assert.rejects(pinfold.pins.set(publicToken, { pin: '1111' }), { code: 'weak_pin' })
  assert.equal(recorder.sent.length, 1)
})

test('a wait that is longer than a caller would wait is left to the caller', async () => {
  recorder.befall('/pin', refusal(429, 'rate_limited', 3_000))
  await assert.rejects(pinfold.pins.reveal(publicToken), (error) => {
    assert.ok(error instanceof RateLimited)
    assert.equal(error.retryAfterSeconds, 3_000)
    return true
  })
  assert.equal(recorder.sent.length, 1)
})

test('a caller who gives up gets its own reason, while sending and while waiting', async () => {
  const gone = AbortSignal.abort(new Error('The cardholder has gone.'))
  const left = pinfold.pins.retrieveStatus(publicToken, { signal: gone })
  await assert.rejects(left, /The cardholder has gone/)
  const leaving = new AbortController()
  recorder.befall('/status', refusal(503, 'unavailable', 29))
  const waiting = pinfold.pins.retrieveStatus(publicToken, { signal: leaving.signal })
  while (recorder.sent.length === 0) await new Promise(setImmediate)
  setImmediate(() => leaving.abort(new Error('It closed the page.')))
  await assert.rejects(waiting, /It closed the page/)
})

test('a service that does not answer is given up in time', async () => {
  const silent = createPinfold({
    ...service.sandbox,
    timeoutMs: 20,
    retries: 1,
    fetch: (_input, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
      }),
  })
  await assert.rejects(silent.products.list().page(), { code: 'timed_out' })
})

test('Retry-After may be a date, and what is neither is passed by', () => {
  const nowMs = Date.parse('2026-11-20T08:00:00Z')
  const read = (text: string) => parseRetryAfter(new Headers({ 'retry-after': text }), nowMs)
  assert.equal(read('120'), 120)
  assert.equal(read('Fri, 20 Nov 2026 08:02:00 GMT'), 120)
  assert.equal(read('Friday, 20-Nov-26 08:02:00 GMT'), 120)
  assert.equal(read('Fri, 20 Nov 2026 07:00:00 GMT'), 0)
  for (const none of ['', '-1', '1.5', 'tomorrow', '2026-11-20', 'Fri, 99 Nov 2026 08:02:00 GMT']) {
    assert.equal(read(none), undefined, none)
  }
})
