import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { before, beforeEach, test } from 'node:test'
import { Problem } from '../../../src/domain/problem.ts'
import { Secret } from '../../../src/domain/secret.ts'
import {
  claimKey,
  findRemembered,
  type KeyedRequest,
  once,
  type RepeatableRequest,
  recall,
} from '../../../src/operations/idempotency/idempotency.ts'
import { followKeys } from '../../../src/operations/keys/rotate.ts'
import type { Connection } from '../../../src/storage/engine/database.ts'
import { activateKey, ageIdempotencyKey } from '../../support/builders.ts'
import { computeKeyHash } from '../../support/identifiers.ts'
import {
  type CallOptions,
  newCard,
  openTestService,
  sql,
  strongPins,
  type TestService,
} from '../../support/service.ts'

let service: TestService
let publicToken: string
let pins: readonly string[]
let key: string

before(async () => {
  service = await openTestService({ env: { UNBLOCKS_PER_CARD_DAY: '1000' } })
  const card = await service.createCard()
  publicToken = card.publicToken
  pins = strongPins(card)
})
beforeEach(() => {
  key = randomUUID()
})

const count = async (table: 'card' | 'event' | 'idempotency_record'): Promise<number> => {
  const [row] = await sql<{ n: number }>(
    service.database,
    `select count(*)::int as n from ${table}`,
  )
  return row?.n ?? 0
}

const create = (members: object = {}, options: CallOptions = {}) =>
  service.call('POST', '/cards', {
    body: newCard(members),
    ...options,
    headers: { 'idempotency-key': key, ...options.headers },
  })

const setPin = (pin: string | undefined, token = publicToken) =>
  service.call('POST', `/card-pin/${token}/pin`, {
    body: { pin },
    headers: { 'idempotency-key': key },
  })

test('the same request under the same key gets the first answer, marked, and nothing happens twice', async () => {
  const first = await create()
  const [cards, events] = [await count('card'), await count('event')]
  const second = await create()
  assert.deepEqual([first.status, second.status], [201, 201])
  assert.deepEqual(second.json, first.json)
  assert.equal(second.headers.location, first.headers.location)
  assert.equal(first.headers['idempotency-replayed'], undefined)
  assert.equal(second.headers['idempotency-replayed'], 'true')
  assert.deepEqual([await count('card'), await count('event')], [cards, events])
})

test('without a key every answer is a first one, and is not marked', async () => {
  const answer = await service.call('POST', '/cards', { body: newCard() })
  assert.deepEqual([answer.status, answer.headers['idempotency-replayed']], [201, undefined])
})

test('the same body is the same request however its members are ordered and spaced', async () => {
  const first = await create()
  const reordered = Object.fromEntries(Object.entries(newCard()).reverse())
  const second = await service.call('POST', '/cards', {
    payload: JSON.stringify(reordered, null, 2),
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
  })
  assert.deepEqual([second.status, second.json], [201, first.json])
})

test('every change honours a key: its repeat is 204 and leaves no second event', async () => {
  const requests: readonly (readonly [string, string, object?])[] = [
    ['POST', `/card-pin/${publicToken}/pin`, { pin: pins[0] }],
    ['POST', `/card-pin/${publicToken}/pin/unblock`],
    ['PUT', `/card-cvv/${publicToken}/cvv/status`, { status: 'Blocked' }],
    ['PUT', `/card-cvv/${publicToken}/cvv/status`, { status: 'Unblocked' }],
    ['PUT', `/cards/${publicToken}/status`, { cardStatusCode: '62' }],
  ]
  for (const [method, path, body] of requests) {
    const headers = { 'idempotency-key': randomUUID() }
    const first = await service.call(method, path, { body, headers })
    const events = await count('event')
    const second = await service.call(method, path, { body, headers })
    assert.deepEqual([first.status, second.status, second.text], [204, 204, ''], path)
    assert.equal(second.headers['idempotency-replayed'], 'true', path)
    assert.equal(await count('event'), events, path)
  }
})

test('another body, path or method under the same key is refused and does nothing', async () => {
  await create()
  const cards = await count('card')
  const headers = { 'idempotency-key': key }
  const others = [
    await create({ customerReference: 'other' }),
    await service.call('POST', `/card-pin/${publicToken}/pin/unblock`, { headers }),
    await service.call('PUT', `/cards/${publicToken}/status`, {
      body: { cardStatusCode: '41' },
      headers,
    }),
  ]
  for (const { json, status } of others) {
    assert.deepEqual([status, json.code], [422, 'idempotency_key_reused'])
  }
  assert.equal(await count('card'), cards)
  assert.equal((await create()).headers['idempotency-replayed'], 'true')
})

test('a key under which a PIN was set is retired by one other PIN: it can be asked nothing more', async () => {
  assert.equal((await setPin(pins[0])).status, 204)
  assert.equal((await setPin(pins[0])).headers['idempotency-replayed'], 'true')
  for (const pin of [pins[1], pins[0], pins[0], pins[2]]) {
    const { json, status } = await setPin(pin)
    assert.deepEqual([status, json.code], [422, 'idempotency_key_reused'])
  }
  const { json } = await service.call('GET', `/card-pin/${publicToken}/pin`)
  assert.equal(json.pin, pins[0])
})

test('after an answer that is no success the key is free', async () => {
  const refused = await create({ cardProduct: 4711 })
  assert.equal(refused.status, 422)
  const made = await create()
  assert.deepEqual([made.status, made.headers['idempotency-replayed']], [201, undefined])
  key = randomUUID()
  assert.equal((await setPin('1234')).json.code, 'weak_pin')
  assert.equal((await setPin('1234', '9999999999')).json.code, 'card_not_found')
  assert.equal((await setPin(pins[0])).status, 204)
})

test('a key is remembered for 24 hours, and then as good as new', async () => {
  const first = await create()
  await ageIdempotencyKey(service, key, '23 hours 59 minutes')
  assert.equal((await create()).json.publicToken, first.json.publicToken)
  await ageIdempotencyKey(service, key, '24 hours 1 minute')
  const later = await create({ customerReference: 'later' })
  assert.deepEqual([later.status, later.headers['idempotency-replayed']], [201, undefined])
  assert.notEqual(later.json.publicToken, first.json.publicToken)
  assert.equal((await create()).json.code, 'idempotency_key_reused')
})

test('a key that is older than 24 hours, and not swept yet, answers nothing that is refused now', async () => {
  const { publicToken } = await service.createCard()
  const move = (cardStatusCode: string) =>
    service.call('PUT', `/cards/${publicToken}/status`, {
      body: { cardStatusCode },
      headers: { 'idempotency-key': key },
    })
  assert.equal((await move('62')).status, 204)
  const close = { cardStatusCode: '83' }
  await service.call('PUT', `/cards/${publicToken}/status`, { body: close })
  assert.equal((await move('62')).status, 204, 'a repeat, whatever is so of the card')
  await ageIdempotencyKey(service, key, '25 hours')
  for (const code of ['62', '00']) {
    assert.equal((await move(code)).json.code, 'card_status_conflict')
  }
})

test('a key belongs to one client: another one may use the same', async () => {
  const mine = await create()
  const theirs = await create({ cardProduct: 2001 }, { as: 'otherClient' })
  assert.deepEqual([theirs.status, theirs.headers['idempotency-replayed']], [201, undefined])
  assert.equal((await create()).json.publicToken, mine.json.publicToken)
})

test('both spellings of the header are one key, and two keys at once are refused', async () => {
  const first = await create()
  const other = await service.call('POST', '/cards', {
    body: newCard(),
    headers: { idempotencykey: key },
  })
  assert.equal(other.json.publicToken, first.json.publicToken)
  assert.equal((await create({}, { headers: { idempotencykey: key } })).status, 201)
  const both = await create({}, { headers: { idempotencykey: 'another' } })
  assert.deepEqual([both.status, both.json.code], [400, 'malformed_request'])
})

test('a key that is not 1 to 255 visible ASCII characters is refused and nothing is done', async () => {
  const [cards, records] = [await count('card'), await count('idempotency_record')]
  for (const bad of ['', 'a'.repeat(256), 'a b', 'a,\tb', 'clé', 'a\u007f']) {
    key = bad
    const { json, status } = await create()
    assert.deepEqual([status, json.code], [400, 'malformed_request'], JSON.stringify(bad))
  }
  assert.deepEqual([await count('card'), await count('idempotency_record')], [cards, records])
  for (const good of ['a', '~', `${randomUUID()}${'!'.repeat(219)}`]) {
    key = good
    assert.equal((await create()).status, 201, good)
  }
})

test('what is remembered of a request is neither its body nor its answer in clear', async () => {
  const { json } = await create({ customerReference: 'visible' })
  const rows = await sql<{ answer: Uint8Array; fingerprint: Uint8Array }>(
    service.database,
    `select answer, request_fingerprint as "fingerprint" from idempotency_record
     where key_hash = $1`,
    [await computeKeyHash(service, key)],
  )
  assert.equal(rows.length, 1)
  for (const { answer, fingerprint } of rows) {
    assert.equal(fingerprint.length, 32)
    for (const text of [json.publicToken, json.maskedPan, 'visible', 'ANA LIM']) {
      assert.ok(!Buffer.from(answer).includes(text), text)
    }
  }
})

test('an answer that lies in the place of another is not given', async () => {
  await create()
  const [mine, myKey] = [await computeKeyHash(service, key), key]
  key = randomUUID()
  const other = await create({ customerReference: 'other' })
  const [row] = await sql<{ answer: Uint8Array }>(
    service.database,
    'select answer from idempotency_record where key_hash = $1',
    [await computeKeyHash(service, key)],
  )
  await sql(service.database, 'update idempotency_record set answer = $2 where key_hash = $1', [
    mine,
    row?.answer ?? null,
  ])
  key = myKey
  const { status, text } = await create()
  assert.equal(status, 500)
  assert.ok(!text.includes(other.json.publicToken))
})

const keyedAnew = (): KeyedRequest => ({
  clientId: 'demo-client',
  keyHashes: [randomBytes(32)],
  fingerprints: [randomBytes(32)],
  bearsSecret: false,
})
const isInUse = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'idempotency_key_in_use'

test('a key whose record went while it was looked for may be asked for again', async () => {
  await assert.rejects(findRemembered(service.database, keyedAnew()), isInUse)
})

test('that a key is in use is said of a wait alone, and of no other fault', async () => {
  const fault = service.database.transaction(async (connection) => {
    // From here on the database refuses every statement of the transaction.
    await assert.rejects(sql(connection, 'select 1 / 0'))
    await claimKey(connection, keyedAnew())
  })
  await assert.rejects(fault, (error) => !isInUse(error))
})

const asked = (): RepeatableRequest => ({
  clientId: 'demo-client',
  idempotencyKey: key,
  request: new Secret('POST /cards {}'),
  bearsSecret: false,
})

test('a first answer is recalled before the act, and to ask for one that is not there changes nothing', async () => {
  const store = { database: service.database, hsm: service.issuing.hsm }
  assert.equal(await recall(store, null), null)
  assert.equal(await recall(store, asked()), null)
  const first = await once(store, asked(), async () => 'first')
  assert.deepEqual(first, { result: 'first', replayed: false })
  assert.deepEqual(await recall(store, asked()), { result: 'first', replayed: true })
})

test('a first answer is opened after its transaction, so that the HSM can read its keys', async () => {
  const { database } = service
  const { hsm } = service.issuing
  await once({ database, hsm }, asked(), async () => 'first')
  let transactions = 0
  const store = {
    database: {
      ...database,
      transaction: <Result>(work: (connection: Connection) => Promise<Result>) => {
        transactions += 1
        return database.transaction(work).finally(() => {
          transactions -= 1
        })
      },
    },
    hsm: {
      ...hsm,
      revealRecord: (...given: Parameters<typeof hsm.revealRecord>) => {
        assert.equal(transactions, 0, 'no transaction holds a connection')
        return hsm.revealRecord(...given)
      },
    },
  }
  const again = await once(store, asked(), async () => 'second')
  assert.deepEqual(again, { result: 'first', replayed: true })
})

test('a key is remembered though the key that it is hashed under has another version since', async () => {
  const first = await create()
  await service.call('POST', '//keys/request-fingerprint/rotate', {
    as: 'admin',
    listener: 'private',
  })
  await activateKey(service.database, 'request-fingerprint')
  await followKeys(service.keys)
  const second = await create()
  assert.equal(second.headers['idempotency-replayed'], 'true')
  assert.equal(second.json.publicToken, first.json.publicToken)
  assert.equal((await create({ customerReference: 'other' })).json.code, 'idempotency_key_reused')
})
