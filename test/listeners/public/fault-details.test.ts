import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { administerOf } from '../../operations/clients/administer.ts'
import { withoutIds } from '../../support/identifiers.ts'
import {
  type CallOptions,
  newCard,
  openTestService,
  type TestService,
} from '../../support/service.ts'

let service: TestService

before(async () => {
  service = await openTestService()
})

const json = { 'content-type': 'application/json' }

const post = (options: CallOptions) => service.call('POST', '/cards', options)

test('415 names the Content-Type that came and those that are accepted', async () => {
  const accepted = /Send JSON in UTF-8 with the Content-Type application\/json /
  for (const type of ['text/plain', 'application/xml', 'application/json; charset=utf-16']) {
    const answer = await post({ payload: '{}', headers: { 'content-type': type } })
    assert.equal(answer.status, 415)
    assert.ok(answer.json.detail.startsWith(`The Content-Type ${type} is not supported.`))
    assert.match(answer.json.detail, accepted)
  }
  const untyped = await post({ payload: '{}' })
  assert.match(untyped.json.detail, /^The request has a body and no Content-Type\. /)
  const coded = await post({ payload: '{}', headers: { ...json, 'content-encoding': 'gzip' } })
  assert.match(coded.json.detail, /^The Content-Encoding gzip is not supported: /)
  for (const type of ['text/4000001234567899', 'text/plain; charset="7193"', 'pin=7193']) {
    const { json, status, text } = await post({ payload: '{}', headers: { 'content-type': type } })
    assert.equal(status, 415)
    assert.match(json.detail, accepted)
    assert.ok(!/4000001234567899|7193/.test(withoutIds(text)), text)
  }
})

test('401 tells a missing token, another scheme, and a bad token apart', async () => {
  const token = await service.token()
  const authorizations = {
    'The request has no Authorization header.': undefined,
    'The Authorization header does not have the scheme Bearer.': 'Basic YTpi',
    'The token is not an access token of this service. Request': 'Bearer abc',
    'The access token is not valid: its signature,': `Bearer ${token.slice(0, -4)}AAAA`,
  }
  for (const [begin, authorization] of Object.entries(authorizations)) {
    const headers = authorization === undefined ? {} : { authorization }
    const answer = await service.call('GET', '/products', { token: null, headers })
    assert.equal(answer.status, 401)
    assert.ok(answer.json.detail.startsWith(begin), answer.text)
  }
  const foreign = await service.call('GET', '/products', {
    token: await service.token(undefined, 'admin'),
  })
  assert.match(foreign.json.detail, /^The access token was issued for another service or listener/)
})

test('400 names the line and column of a JSON fault, and repeats nothing of the body', async () => {
  const faults: Readonly<Record<string, string>> = {
    '{"pin":': 'The body is not JSON at line 1, column 8.',
    '{\n  "pin": "7193",\n}': 'The body is not JSON at line 3, column 1.',
    'pin=7193': 'The body is not JSON at line 1, column 1.',
    "{'pin':'7193'}": 'The body is not JSON at line 1, column 2.',
    '{"pin":"7193"\n"updatedBy":"a"}': 'The body is not JSON at line 2, column 1.',
    '{"pin":"7193",\n "pin":"0739"}':
      'The body has a second member of the same name at line 2, column 2.',
  }
  for (const [payload, detail] of Object.entries(faults)) {
    const answer = await post({ payload, headers: json })
    assert.deepEqual([answer.status, answer.json.detail], [400, detail], payload)
    assert.ok(!/7193|0739|pin/.test(withoutIds(answer.text)), answer.text)
  }
})

test('404 names the path that was probably meant, and repeats nothing of the request', async () => {
  const meant: Readonly<Record<string, string>> = {
    '//cards/4820117360': '/thr/processor/cards/{publicToken}',
    '//thr/thredd/products': '/thr/processor/products',
    '/Products': '/thr/processor/products',
    '/products/': '/thr/processor/products',
  }
  for (const [path, pattern] of Object.entries(meant)) {
    const { json, status, text } = await service.call('GET', path, { token: null })
    const detail = `The path is ${pattern}. Paths are exact: prefix, case and slashes have to match.`
    assert.deepEqual([status, json.code, json.detail], [404, 'not_found', detail], path)
    assert.ok(!text.includes('4820117360'))
  }
  const unknown = await service.call('GET', '//clients/4820117360', { token: null })
  const detail =
    'This listener has no such path. Operations on cards begin with /thr/processor. ' +
    'The console, the audit log, and the paths of networks and administrators are on the private ' +
    'listener (PRIVATE_PORT). ' +
    'GET /openapi.json lists its paths.'
  assert.deepEqual([unknown.status, unknown.json.detail], [404, detail])
})

test('a fault of a type says what is required, and an empty text that it is empty', async () => {
  const faults: readonly (readonly [Readonly<Record<string, unknown>>, string, string])[] = [
    [{ cardProduct: '1001' }, '/cardProduct', 'must be a whole number, not a string'],
    [{ cardProduct: 1.5 }, '/cardProduct', 'must be a whole number'],
    [{ activateNow: 'yes' }, '/activateNow', 'must be true or false'],
    [{ customerReference: '' }, '/customerReference', 'must not be empty'],
    [{ cardHolder: 'Ana' }, '/cardHolder', 'must be an object'],
  ]
  for (const [members, pointer, detail] of faults) {
    const { json } = await post({ body: newCard(members) })
    assert.deepEqual(json.errors, [{ pointer, detail }], pointer)
  }
})

test('an amount without its currency names both', async () => {
  const body = { publicToken: '4820117360', pin: '7193', amount: 100 }
  const { json } = await service.call('POST', '/simulator/authorizations', { body })
  assert.deepEqual(json.errors, [{ pointer: '/currency', detail: 'must be given with amount' }])
})

test('404 names which of client and product is missing', async () => {
  const administer = administerOf(service)
  const client = 'No client system has this clientId.'
  const product = 'No product has this productId.'
  const grants: Readonly<Record<string, string>> = {
    '/clients/nobody/products/1001': client,
    '/clients/demo-client/products/4711': product,
    '/clients/nobody/products/4711': `${client} ${product}`,
  }
  for (const [path, detail] of Object.entries(grants)) {
    const { json, status } = await administer('PUT', path)
    assert.deepEqual([status, json.code, json.detail], [404, 'not_found', detail], path)
  }
})

test('a product that is not available is named by a pointer, granted to others or unknown', async () => {
  const detail = 'must be the productId of an active product that is granted to your client'
  for (const cardProduct of [4711, 2001]) {
    const { json, status } = await post({ body: newCard({ cardProduct }) })
    assert.deepEqual([status, json.code], [422, 'product_not_available'])
    assert.deepEqual(json.errors, [{ pointer: '/cardProduct', detail }])
  }
})

test('the fault of a query parameter names the parameter, and that of a member does not', async () => {
  const queries: Readonly<Record<string, string>> = {
    '/cards?limit=0': 'limit',
    '/cards?unknown=1': 'unknown',
    '/cards?cursor=abc': 'cursor',
    '/cards?customerReference=%00': 'customerReference',
    '/events?types=pin.sett': 'types',
    '/events?after=0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11': 'after',
    '/cards?4000001234567899=1': '',
  }
  for (const [path, parameter] of Object.entries(queries)) {
    const { json, status } = await service.call('GET', path)
    const [{ pointer, ...fault }] = json.errors
    assert.deepEqual([status, fault.parameter], [422, parameter], path)
    assert.equal(pointer, parameter && `/${parameter}`, path)
  }
  const { json } = await post({ body: { cardType: 7, unknown: 1 } })
  assert.ok(json.errors.length > 1)
  for (const fault of json.errors) assert.ok(!('parameter' in fault))
})

test('a misspelt type of event is answered with the types, and the nearest one', async () => {
  const types = 'card.created, card.status_changed, card.controls_changed, '
  const subscribe = async (...events: unknown[]) => {
    const body = { url: 'https://127.0.0.1/hook', events }
    const { json, status } = await service.call('POST', '/webhooks', { body })
    assert.equal(status, 422)
    return json.errors
  }
  const [fault, ...others] = await subscribe('pin.set', 'pin.blokced')
  assert.deepEqual(others, [])
  assert.equal(fault.pointer, '/events/1')
  assert.ok(fault.detail.startsWith(`must be one of ${types}`), fault.detail)
  assert.ok(fault.detail.endsWith(', *; did you mean pin.blocked?'), fault.detail)
  for (const unlike of ['4000001234567899', 'x', 7]) {
    const errors: readonly { detail: string }[] = await subscribe(unlike)
    for (const { detail } of errors) assert.ok(!/did you mean|4000/.test(detail), detail)
  }
})

test('a first name without Latin letters is left out of the default name on the card', async () => {
  const named = (firstName: string, lastName: string) =>
    post({ body: newCard({ cardHolder: { firstName, lastName, dateOfBirth: '1990-04-17' } }) })
  assert.equal((await named('小明', 'Lim')).json.embossName, 'LIM')
  const { json, status } = await named('小明', '林')
  const detail = 'must be given: neither firstName nor lastName has Latin letters to emboss'
  assert.deepEqual([status, json.errors], [422, [{ pointer: '/nameOnCard', detail }]])
})
