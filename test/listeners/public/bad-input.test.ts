import assert from 'node:assert/strict'
import { afterEach, before, test } from 'node:test'
import { newCard, openTestService, sql, type TestService } from '../../support/service.ts'
import { changes } from './operations.ts'

let service: TestService
let publicToken: string
let rowsBefore: unknown

const rows = () =>
  sql(
    service.database,
    `select (select count(*)::int from card) as cards, (select count(*)::int from event) as events,
       (select count(*)::int from idempotency_record) as keys,
       (select count(*)::int from card_limit) as limits,
       (select sum(spent)::int from try_counter) as tries`,
  )

before(async () => {
  service = await openTestService()
  publicToken = (await service.createCard()).publicToken
  rowsBefore = await rows()
})

afterEach(async () => {
  assert.deepEqual(await rows(), rowsBefore, 'nothing that was refused has changed anything')
})

const json = { 'content-type': 'application/json' }
const withBody = changes.filter(({ name }) => name !== 'Unblock PIN')
const bodyLimit = 'The body exceeds the limit of 65536 bytes.'
const secret = '4000001234567899'

/** A body of each kind, and the code that it is refused with. */
const bodies: Readonly<Record<string, readonly [string | Buffer, string]>> = {
  'half an object': ['{"pin":', 'malformed_request'],
  'no JSON': [`pin=${secret}`, 'malformed_request'],
  'a trailing comma': ['{"pin":"7193",}', 'malformed_request'],
  'a comment': ['{"pin":"7193"}//', 'malformed_request'],
  'two values': ['{}{}', 'malformed_request'],
  'no number': ['NaN', 'malformed_request'],
  'single quotes': ["{'pin':'7193'}", 'malformed_request'],
  'bytes that are not UTF-8': [Buffer.from('7b22ff223a317d', 'hex'), 'malformed_request'],
  'an overlong encoding': [Buffer.from('7b22c080223a317d', 'hex'), 'malformed_request'],
  'a byte order mark': [`\ufeff{"pin":"7193"}`, 'malformed_request'],
  'UTF-16': [Buffer.from('{"pin":"7193"}', 'utf16le'), 'malformed_request'],
  'a member twice': ['{"pin":"7193","pin":"0739"}', 'malformed_request'],
  'a member twice, once escaped': ['{"pin":"7193","\\u0070in":"0739"}', 'malformed_request'],
  'a nested member twice': ['{"a":[{"b":1,"b":2}]}', 'malformed_request'],
  '100 nested arrays': ['['.repeat(100) + ']'.repeat(100), 'validation_failed'],
  '101 nested arrays': ['['.repeat(101) + ']'.repeat(101), 'malformed_request'],
  'deeply nested objects': [`${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}`, 'malformed_request'],
  'deeply nested arrays': ['['.repeat(30_000) + ']'.repeat(30_000), 'malformed_request'],
  null: ['null', 'validation_failed'],
  'an array': ['[{"pin":"7193"}]', 'validation_failed'],
  'a text': [`"${secret}"`, 'validation_failed'],
  'a number': [secret, 'validation_failed'],
  'a truth': ['true', 'validation_failed'],
  'a byte more than 64 KiB': [`"${'a'.repeat(65_535)}"`, 'body_too_large'],
}

for (const { method, name, path } of changes) {
  test(`${name} refuses every body that is not one JSON object`, async () => {
    for (const [kind, [payload, code]] of Object.entries(bodies)) {
      const answer = await service.call(method, path(publicToken), { payload, headers: json })
      assert.equal(answer.json?.code, code, `${kind}: ${answer.text}`)
      assert.equal(answer.headers['content-type'], 'application/problem+json; charset=utf-8', kind)
      assert.ok(!answer.text.includes(secret), kind)
      if (code === 'validation_failed') {
        assert.deepEqual(answer.json.errors, [{ pointer: '', detail: 'must be an object' }], kind)
      }
      if (code === 'body_too_large') {
        assert.deepEqual([answer.status, answer.json.detail], [413, bodyLimit])
      }
    }
  })

  test(`${name} refuses every media type but JSON in UTF-8`, async () => {
    const types = [
      '',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=a',
      'application/xml',
      'application/json; charset=utf-16',
      'application/json; charset=iso-8859-1',
      'application/json, text/plain',
      'application/problem+json',
      'json',
      ';',
    ]
    for (const type of types) {
      const headers = { 'content-type': type }
      const answer = await service.call(method, path(publicToken), { payload: '{}', headers })
      assert.deepEqual([answer.status, answer.json.code], [415, 'unsupported_media_type'], type)
    }
    const untyped = await service.call(method, path(publicToken), { payload: '{}' })
    assert.equal(untyped.status, 415)
    for (const coding of ['gzip', 'br', 'identity']) {
      const headers = { ...json, 'content-encoding': coding }
      const answer = await service.call(method, path(publicToken), { payload: '{}', headers })
      assert.equal(answer.status, 415, coding)
    }
  })

  test(`${name} refuses members that it does not know, whatever they are called`, async () => {
    const known = [
      '{"unknown":1}',
      '{"__proto__":{"pin":"7193"}}',
      '{"constructor":{"prototype":{}}}',
      '{"toString":"7193"}',
      '{"clientId":"demo-other-client"}',
    ]
    for (const payload of known) {
      const answer = await service.call(method, path(publicToken), { payload, headers: json })
      assert.deepEqual([answer.status, answer.json.code], [422, 'validation_failed'], payload)
      const [member] = Object.keys(JSON.parse(payload))
      const pointers = answer.json.errors.map(({ pointer }: { pointer: string }) => pointer)
      assert.ok(pointers.includes(`/${member}`), answer.text)
    }
  })

  test(`${name} repeats no member name that may be a card number or a PIN`, async () => {
    const names = [
      secret,
      '4000-0012-3456-7899',
      'a400-000-123-456-789-9',
      '_4_0_0_0_0_0_1_2_3_4',
      'pin-7-1-9-3',
      'a b',
      '💳',
      'a'.repeat(41),
    ]
    for (const member of names) {
      const payload = JSON.stringify({ [member]: secret })
      const answer = await service.call(method, path(publicToken), { payload, headers: json })
      assert.equal(answer.json.code, 'validation_failed', member)
      assert.ok(!answer.text.includes(member), answer.text)
      assert.ok(!answer.text.includes(secret))
    }
  })
}

for (const { method, name, path } of withBody) {
  test(`${name} without a body is malformed`, async () => {
    for (const headers of [{}, json]) {
      const answer = await service.call(method, path(publicToken), { headers })
      assert.deepEqual([answer.status, answer.json.code], [400, 'malformed_request'])
    }
  })
}

test('a query that a list does not understand is refused with all that is wrong with it', async () => {
  const cursor = (position: unknown): string =>
    Buffer.from(JSON.stringify(position)).toString('base64url')
  const queries: Readonly<Record<string, readonly string[]>> = {
    'limit=0': ['/limit'],
    'limit=101': ['/limit'],
    'limit=1e1&cursor=*': ['/limit', '/cursor'],
    'limit=1&limit=2': ['/limit'],
    'unknown=1&limit=x': ['/unknown', '/limit'],
    'cursor=abc': ['/cursor'],
    [`cursor=${cursor(['0000-01-01T00:00:00.000000Z', publicToken])}`]: ['/cursor'],
    [`cursor=${cursor(['2026-02-30T00:00:00.000000Z', publicToken])}`]: ['/cursor'],
    [`cursor=${cursor([-99_999_999_999])}`]: ['/cursor'],
    [`cursor=${cursor([99_999_999_999])}`]: ['/cursor'],
    [`cursor=${cursor([1.5])}`]: ['/cursor'],
    [`cursor=${cursor({ length: 2 })}`]: ['/cursor'],
  }
  for (const list of ['/cards', '/products']) {
    for (const [query, pointers] of Object.entries(queries)) {
      const { json: document, status } = await service.call('GET', `${list}?${query}`)
      assert.deepEqual([status, document.code], [422, 'validation_failed'], `${list}?${query}`)
      const found = document.errors.map(({ pointer }: { pointer: string }) => pointer).sort()
      assert.deepEqual(found, [...pointers].sort(), `${list}?${query}`)
    }
  }
  const filters = [
    'cardStatusCode=99',
    'customerReference=%00',
    'customerReference=',
    'cardProduct=2147483648',
  ]
  for (const query of filters) {
    assert.equal((await service.call('GET', `/cards?${query}`)).status, 422, query)
  }
  for (const query of ['cardType=Plastic', 'currencyCode=eur', 'currencyCode=']) {
    assert.equal((await service.call('GET', `/products?${query}`)).status, 422, query)
  }
})

test('a URL that is malformed or too long is refused, and the limit is named', async () => {
  for (const path of ['/cards/%zz', '/cards/%E0%A4%A', '/cards/%']) {
    const { json: document, status } = await service.call('GET', path)
    assert.deepEqual([status, document.code], [400, 'malformed_request'], path)
  }
  const long = await service.call('GET', `/cards?customerReference=${'a'.repeat(2048)}`)
  assert.deepEqual(
    [long.status, long.json.detail],
    [400, 'The URL exceeds the limit of 2048 characters.'],
  )
})

const pointersOf = (json: { errors: readonly { pointer: string }[] }): string[] =>
  json.errors.map(({ pointer }) => pointer).sort()

test('faults that a schema cannot see are told together with those that it can', async () => {
  const path = `/card-pin/${publicToken}/pin`
  const body = { pin: '48', cardPin: '4821', updatedBy: '' }
  const { json, status } = await service.call('POST', path, { body })
  assert.equal(status, 422)
  assert.deepEqual(pointersOf(json), ['', '/pin', '/updatedBy'])
})

test('a delivery address of a virtual card is told with every other fault', async () => {
  const card = newCard()
  const body = { ...card, cardType: 'Virtual', fulfilment: card.address, nameOnCard: '*' }
  const { json, status } = await service.call('POST', '/cards', { body })
  assert.equal(status, 422)
  assert.deepEqual(pointersOf(json), ['/fulfilment', '/nameOnCard'])
})

test('of thousands of faults the first fifty are told: an answer is not many times its question', async () => {
  const body = { url: 'https://a.example/', events: Array.from({ length: 14_000 }, () => 'x') }
  const { json, status, text } = await service.call('POST', '/webhooks', { body })
  assert.equal(status, 422)
  assert.equal(json.errors.length, 50)
  assert.ok(text.length < JSON.stringify(body).length)
})
