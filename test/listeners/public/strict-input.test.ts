import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { problemKinds } from '../../../src/domain/problem-kinds.ts'
import { writeCursor } from '../../../src/listeners/http/pages.ts'
import { keepRsaKeys } from '../../operations/card-data/service.ts'
import { openWithRoutes, type Route } from '../../support/routes.ts'
import {
  type Answer,
  type CallOptions,
  openTestService,
  type TestService,
} from '../../support/service.ts'

let service: TestService
let routes: readonly Route[]
let publicToken: string

before(async () => {
  const opened = await openWithRoutes(() => openTestService({ env: { RATE_LIMIT: 'off' } }))
  service = opened.service
  // What has a schema of its answer is ours; the token endpoint and the reference are not.
  routes = opened.routes.filter(({ schema }) => schema.response)
  await keepRsaKeys(service)
  publicToken = (await service.createCard()).publicToken
})

const pointersOf = ({ json }: Answer): string[] =>
  (json?.errors ?? []).map(({ pointer }: { pointer: string }) => pointer).sort()

const administer = (method: string, path: string, options: CallOptions = {}) =>
  service.call(method, `/${path}`, { as: 'admin', listener: 'private', ...options })

/** Calls a route as one who may. */
const callRoute = (
  { config, listener, method, url }: Pick<Route, 'config' | 'listener' | 'method' | 'url'>,
  options: CallOptions = {},
  query = '',
): Promise<Answer> => {
  const isNetwork = config.access === 'authorizations.write'
  const operator = config.access === 'approve' ? 'approver' : 'admin'
  const as = listener === 'public' ? 'client' : isNetwork ? 'network' : operator
  const token = config.access === 'open' ? { token: null } : { as }
  return service.call(method, `/${url}${query}`, { listener, ...token, ...options } as CallOptions)
}

/** The path of a route with a value for each parameter. */
const filled = (route: Route, value: (name: string) => string): Route => ({
  ...route,
  url: route.url.replaceAll(/:(\w+)(?:\([^)]*\))?/g, (_, name: string) => value(name)),
})

const present: Readonly<Record<string, string>> = {
  code: 'weak_pin',
  kid: 'card-data-pin-1',
  clientId: 'demo-client',
  productId: '1001',
  key: 'cvk',
  version: '1',
}
const presentOne = (name: string): string => present[name] ?? publicToken

test('a cursor with another position in it than its list wrote is refused, on every list', async () => {
  const at = '2026-11-20T08:00:00.123456Z'
  const id = '5f0c1d52-8f0e-4d5a-9a53-0c6a1a3b7c11'
  const numbers = [-3_000_000_000, -1, 0, 1.5, 2_147_483_648, 1e15, 1e308, '1', null]
  const ids = [id.toUpperCase(), `urn:uuid:${id}`, `{${id}}`, id.replaceAll('-', ''), 'a\u0000', 7]
  const lists: Readonly<Record<string, readonly unknown[][]>> = {
    [`/cards/${publicToken}/attempts`]: numbers.flatMap((number) => [
      [number, 1],
      [1, number],
    ]),
    '/cards': ['0123456789', 1_234_567_890, '١٢٣٤٥٦٧٨٩٠', '1234\u0000'].map((token) => [at, token]),
    '/products': numbers.map((number) => [number]),
    '/webhooks': ids.map((each) => [each]),
    '//products': numbers.map((number) => [number]),
    '//clients': ['a\u0000b', 'a b', '', 7, 'a'.repeat(65)].map((each) => [each]),
    '//acts': ['7', id, 7.5, 2 ** 53, null].map((each) => [at, each]),
    '//approvals': ids.map((each) => [at, each]),
  }
  for (const [path, positions] of Object.entries(lists)) {
    const listener = path.startsWith('//') ? 'private' : 'public'
    const as = listener === 'private' ? 'admin' : 'client'
    for (const position of positions) {
      const cursor = writeCursor(position as string[])
      const answer = await service.call('GET', `${path}?cursor=${cursor}`, { listener, as })
      const found = [answer.status, ...pointersOf(answer)]
      assert.deepEqual(found, [422, '/cursor'], `${path} ${JSON.stringify(position)}`)
    }
  }
})

test('an event is named as it was given, and in no other spelling of its id', async () => {
  const id = '0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11'
  const spellings = [`urn:uuid:${id}`, id.toUpperCase(), `{${id}}`, id.replaceAll('-', ''), 'a%00']
  for (const after of spellings) {
    const answer = await service.call('GET', `/events?after=${after}`)
    assert.deepEqual([answer.status, ...pointersOf(answer)], [422, '/after'], after)
    assert.equal(answer.json.errors[0].detail, 'must be an id from this service')
    const headers = { accept: 'text/event-stream', 'last-event-id': decodeURIComponent(after) }
    const stream = await service.call('GET', '/events', { headers })
    assert.deepEqual([stream.status, ...pointersOf(stream)], [422, '/last-event-id'], after)
  }
})

test('a client id that is none, and a version that no key can have, are refused', async () => {
  const texts = ['a\u0000b', '\u0000', '\ud800', 'a b', 'é', 'a'.repeat(65), '']
  const zone = { family: 'zone', key: 'zone-x', pinBlockFormats: ['ISO_FORMAT_0'] }
  const calls: Readonly<Record<string, object>> = {
    '/keys': zone,
    '/keys/import': { ...zone, zoneMasterKey: 'zmk', keyBlock: 'D0112K0AB00E0000' },
    '/keys/export': { key: 'zone-x', zoneMasterKey: 'zmk' },
    '/keys/zones/retire': { key: 'zone-x' },
  }
  for (const [path, members] of Object.entries(calls)) {
    for (const clientId of texts) {
      const answer = await administer('POST', path, { body: { ...members, clientId } })
      assert.deepEqual([answer.status, ...pointersOf(answer)], [422, '/clientId'], path)
    }
  }
  for (const version of [1e15, 2_147_483_648, 100_000, 0, -1, 1.5, '1']) {
    const body = { key: 'cvk', zoneMasterKey: 'zmk', version }
    const answer = await administer('POST', '/keys/export', { body })
    assert.deepEqual([answer.status, ...pointersOf(answer)], [422, '/version'], String(version))
  }
})

test('an identifier that can be none is 404 on every path, like one that is not there', async () => {
  const texts = ['%00', '%ED%A0%80', '%20', '%E2%80%AE1', '..%2F', "'", '0', '-1', '99999999999']
  const paths = routes.filter(({ url }) => url.includes(':'))
  assert.ok(paths.length > 35)
  for (const route of paths) {
    for (const text of texts) {
      // A body that is right, so that nothing else is refused.
      const body = bodyFor(route)
      const answer = await callRoute(
        filled(route, () => text),
        body && { body },
      )
      // Half of a surrogate pair is no UTF-8: such a path cannot be read at all.
      const status = text === '%ED%A0%80' ? 400 : 404
      assert.equal(answer.status, status, `${route.method} ${route.url} ${text} ${answer.text}`)
    }
  }
})

/** Bodies that the routes with a parameter in their path take. */
const bodyFor = ({ method, schema }: Route): object | undefined => {
  if (method === 'GET' || method === 'DELETE' || method === 'HEAD') return undefined
  const { operationId = '' } = schema as { operationId?: string }
  const testedPeriod = { from: '2026-03-01T00:00:00Z', to: '2026-03-02T00:00:00Z' }
  const bodies: Readonly<Record<string, object>> = {
    answerDecision: { decision: 'approve' },
    replayDecision: {},
    confirmClient: { credentialsVersion: 1 },
    freezeCard: { reason: 'It was lost' },
    activateCardAsOperator: { reason: 'It has arrived' },
    renewCardAsOperator: { reason: 'It is worn' },
    cancelRenewalAsOperator: { reason: 'It is not worn' },
    changeDeliveryAddressAsOperator: { reason: 'The holder has moved', fulfilment: null },
    convertCardAsOperator: { reason: 'The holder wants plastic' },
    replaceCardAsOperator: { reason: 'It was lost', replacementReason: 'Lost' },
    resendAnyDelivery: { reason: 'It was lost' },
    replayAnyWebhook: { since: '2026-11-20T08:00:00Z', reason: 'It was lost' },
    disableAnyWebhook: { reason: 'It fails' },
    enableAnyWebhook: { reason: 'It is mended' },
    unfreezeCard: { reason: 'It was found' },
    unblockPinAsOperator: { reason: 'It was forgotten' },
    unblockCvvAsOperator: { reason: 'A shop had it wrong' },
    approveApproval: { payloadHash: 'a'.repeat(64) },
    refuseApproval: { reason: 'Nobody knows why' },
    breakGlass: { reason: 'Nobody is awake' },
    reportDelivery: { deliveryStatus: 'Produced' },
    setPin: { pin: '7193' },
    updateCvvStatus: { status: 'Unblocked' },
    changeCard: { metadata: { project: 'Alpha' } },
    changeCardStatus: { cardStatusCode: '62' },
    convertCard: { cardType: 'Physical' },
    replaceCardControls: { version: 0 },
    replaceProductControls: { version: 0 },
    explainControls: { entryMode: 'chip' },
    backTestCardControls: testedPeriod,
    backTestProductControls: testedPeriod,
    getCardData: { key: 'AAAA' },
    queueChipCommand: { command: 'block_application' },
    startChipTransaction: {},
    answerVirtualChip: { approved: true },
    updateWebhook: { url: 'http://127.0.0.1:9/', events: ['*'] },
    replayWebhook: { since: '2026-11-20T08:00:00Z' },
    enterComponent: { person: 'Ana', component: 'AB'.repeat(32), keyCheckValue: 'ABCDEF' },
  }
  return bodies[operationId] ?? {}
}

test('every route refuses a query parameter that it does not name, and one that is given twice', async () => {
  assert.ok(routes.length > 60)
  for (const route of routes.filter(({ method }) => method !== 'HEAD')) {
    const body = bodyFor(route)
    for (const query of ['unknown=1', '__proto__=1', 'constructor=1', '%3D=', 'limit=1&limit=1']) {
      const one = filled(route, presentOne)
      const answer = await callRoute(one, body && { body }, `?${query}`)
      assert.equal(answer.status, 422, `${route.method} ${route.url} ${query}: ${answer.text}`)
      assert.equal(answer.json.code, 'validation_failed')
    }
    const answer = await callRoute(filled(route, presentOne), body && { body }, '?limit=%ff')
    assert.equal(answer.json?.code, 'malformed_request', `${route.method} ${route.url}`)
  }
})

test('a query parameter that is given twice is named, and must be given once', async () => {
  const twice = [
    'limit=1&limit=1',
    'cardStatusCode=00&cardStatusCode=41',
    'cardProduct=1&cardProduct=1',
  ]
  for (const query of twice) {
    const parameter = query.replace(/=.*/, '')
    const { json } = await service.call('GET', `/cards?${query}`)
    const detail = 'must be given once'
    assert.deepEqual(json.errors, [{ pointer: `/${parameter}`, parameter, detail }], query)
  }
  const { json } = await service.call('GET', '/cards?unknown=1&unknown=1')
  assert.match(json.errors[0].detail, /^is unknown/)
})

test('a change that needs no body takes none but an empty one', async () => {
  const paths = ['/keys/cvv/rotate', '/keys/cvk/versions/1/retire', '/clients/nobody/rotate-secret']
  for (const path of paths) {
    const refused = await administer('POST', path, { body: { version: 2 } })
    assert.deepEqual([refused.status, ...pointersOf(refused)], [422, '/version'], path)
    const withNothing = await administer('POST', path)
    assert.notEqual(withNothing.status, 422, path)
    assert.deepEqual(
      (await administer('POST', path, { body: {} })).status,
      withNothing.status,
      path,
    )
  }
})

test('of a DELETE no body is read, and an id that can be none is 404 there too', async () => {
  const path = '/webhooks/nope'
  const bodies: readonly CallOptions[] = [
    {},
    { body: { a: 1 } },
    { payload: 'null', headers: { 'content-type': 'application/json' } },
    { payload: '{', headers: { 'content-type': 'application/json' } },
    { payload: 'a=1', headers: { 'content-type': 'text/plain' } },
    { payload: `"${'a'.repeat(70_000)}"`, headers: { 'content-type': 'application/json' } },
  ]
  for (const options of bodies) {
    const answer = await service.call('DELETE', path, options)
    assert.deepEqual([answer.status, answer.json.code], [404, 'not_found'], JSON.stringify(options))
    const url = 'http://127.0.0.1:9/'
    const made = await service.call('POST', '/webhooks', { body: { url, events: ['*'] } })
    const deleted = await service.call('DELETE', `/webhooks/${made.json.webhookId}`, options)
    assert.equal(deleted.status, 204)
  }
})

test('a path that is not there is 404 at once, by every method and whatever is sent', async () => {
  const headers = { 'content-type': 'application/json' }
  for (const listener of ['public', 'private'] as const) {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS', 'QUERY', 'PROPFIND', 'TRACE']) {
      for (const payload of ['', '{', 'null', `"${'a'.repeat(70_000)}"`]) {
        const answer = await service.call(method, '//nothing', { listener, payload, headers })
        assert.deepEqual([answer.status, answer.json.code], [404, 'not_found'], method)
        const untyped = await service.call(method, '//nothing', { listener, payload })
        assert.equal(untyped.status, 404, method)
      }
    }
  }
})

/**
 * Whether a path without parameters is, by another method, one of those that a route with a
 * parameter has.
 */
const isAnothers = ({ listener, url }: Route, method: string): boolean =>
  !url.includes(':') &&
  routes.some(
    (other) =>
      other.listener === listener &&
      other.method === method &&
      new RegExp(`^${other.url.replaceAll(/:\w+/g, '[^/]+')}$`).test(url),
  )

test('every path refuses the methods that it does not have, and names those that it has', async () => {
  const paths = new Map<string, Route[]>()
  for (const route of routes) {
    const key = `${route.listener} ${route.url}`
    paths.set(key, [...(paths.get(key) ?? []), route])
  }
  for (const [path, those] of paths) {
    const [first] = those
    assert.ok(first)
    const methods = those.map(({ method }) => method).sort()
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']) {
      if (methods.includes(method) || isAnothers(first, method)) continue
      const answer = await callRoute({ ...filled(first, presentOne), method }, { token: null })
      assert.deepEqual([answer.status, answer.headers.allow], [405, methods.join(', ')], path)
    }
  }
  for (const page of ['//docs', '//docs/search', '//docs/assets/documents.css']) {
    const answer = await service.call('POST', page, { token: null })
    assert.deepEqual([answer.status, answer.headers.allow], [405, 'GET, HEAD'], page)
  }
})

test('the type of every problem leads to its page on the listener that answered', async () => {
  for (const listener of ['public', 'private'] as const) {
    const refused = await service.call('GET', '//nothing', { listener, token: null })
    const page = await service.call('GET', `/${refused.json.type}`, { listener, token: null })
    assert.equal(page.status, 200, listener)
    assert.match(page.text, /Nothing was found at this address\./)
    for (const code of Object.keys(problemKinds)) {
      const each = await service.call('GET', `//problems/${code}`, { listener, token: null })
      assert.equal(each.status, 200, code)
    }
  }
})

test('invisible text is refused in a body, also where no schema says so', async () => {
  const jwk = { kty: 'EC', crv: 'P-256', x: 'a', y: 'b' }
  const body = { clientId: 'with-key', clientName: 'K', kind: 'client', scopes: ['cards.read'] }
  for (const text of ['\u0000', 'a\u0007', '\ud800', '\u202e']) {
    for (const [member, pointer] of [
      [{ ...jwk, kid: text }, '/jwks/kid'],
      [{ keys: [{ ...jwk, kid: text }] }, '/jwks/keys/0/kid'],
      [{ ...jwk, [`a${text}`]: 'b' }, '/jwks'],
    ] as const) {
      const answer = await administer('POST', '/clients', { body: { ...body, jwks: member } })
      assert.deepEqual([answer.status, ...pointersOf(answer)], [422, pointer], answer.text)
    }
  }
})
