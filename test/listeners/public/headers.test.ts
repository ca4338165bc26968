import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { before, test } from 'node:test'
import { requestCardData } from '../../../packages/sdk/device/device.ts'
import { parseConfig } from '../../../src/service/config/config.ts'
import {
  type CardDataService,
  keepKeyVersion,
  openCardDataService,
} from '../../operations/card-data/service.ts'
import { openTestService, sql } from '../../support/service.ts'
import { createUsualCard, operations } from './operations.ts'

interface Documented {
  readonly operationId: string
  readonly responses: Record<string, { readonly headers?: Record<string, unknown> }>
}

let service: CardDataService
let publicToken: string

before(async () => {
  service = await openCardDataService()
  publicToken = (await createUsualCard(service)).publicToken
})

/** An answer of every kind. */
const everyKind = async () => [
  ...(await Promise.all(
    operations.map(({ body, method, path }) => service.call(method, path(publicToken), { body })),
  )),
  await service.call('GET', '/products', { token: null }),
  await service.call('GET', '/cards/9999999999'),
  await service.call('DELETE', '/cards'),
  await service.call('GET', '//nowhere', { token: null }),
  await service.call('GET', '/cards/%zz'),
  await service.call('POST', '/cards', {
    payload: '{',
    headers: { 'content-type': 'application/json' },
  }),
  await service.call('GET', '//livez', { token: null, listener: 'private' }),
  await service.call('GET', '/products', { headers: { host: 'elsewhere.test' } }),
]

test('every answer is not to be stored, and says its request id and the version', async () => {
  for (const { headers, json, status } of await everyKind()) {
    assert.equal(headers['cache-control'], 'no-store', `${status}`)
    assert.equal(headers['api-version'], '2026-11-20', `${status}`)
    assert.equal(headers['x-content-type-options'], 'nosniff', `${status}`)
    assert.match(String(headers['x-request-id']), /^[A-Za-z0-9._-]{1,64}$/)
    if (status >= 400) assert.equal(json.requestId, headers['x-request-id'])
  }
})

test('a caller’s request id comes back if it can be repeated safely, and is replaced if not', async () => {
  const idOf = async (given: string): Promise<string> => {
    const answer = await service.call('GET', '/products', { headers: { 'x-request-id': given } })
    assert.equal(answer.status, 200)
    return String(answer.headers['x-request-id'])
  }
  for (const good of ['a', 'A.b_c-9', 'x'.repeat(64)]) assert.equal(await idOf(good), good)
  for (const bad of ['', 'x'.repeat(65), 'a b', 'a/b', 'é', '<script>', 'a,b']) {
    const made = await idOf(bad)
    assert.notEqual(made, bad)
    assert.match(made, /^[0-9a-f-]{36}$/)
  }
})

test('the version of the contract may be asked for, and no other one', async () => {
  const ask = (version: string) =>
    service.call('GET', '/products', { headers: { 'api-version': version } })
  assert.equal((await ask('2026-11-20')).status, 200)
  for (const other of ['2026-11-21', '2025-01-01', '1', '', 'latest', '2026-11-20, 2026-11-20']) {
    const { headers, json, status } = await ask(other)
    assert.deepEqual([status, json.code], [400, 'malformed_request'], other)
    assert.equal(json.detail, 'The header Api-Version must be 2026-11-20, or be absent.')
    assert.equal(headers['api-version'], '2026-11-20')
  }
})

for (const { name, path } of operations) {
  test(`the address of ${name} answers every other method with 405 and the ones it takes`, async () => {
    const taken = operations
      .filter((other) => other.path('1') === path('1'))
      .map(({ method }) => method as string)
    const isDisclosed = path('1').endsWith('/pin')
    const allow = [...taken, ...(taken.includes('GET') && !isDisclosed ? ['HEAD'] : [])].sort()
    const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY']
    for (const method of [...methods, 'PROPFIND', 'PURGE']) {
      if (allow.includes(method)) continue
      const answer = await service.call(method, path(publicToken), { token: null })
      assert.equal(answer.status, 405, method)
      assert.equal(answer.headers.allow, allow.join(', '), method)
      if (method === 'HEAD') continue
      assert.equal(answer.json.code, 'method_not_allowed', method)
      assert.equal(answer.json.detail, `This address supports ${allow.join(', ')}.`, method)
    }
  })
}

test('a method that is refused is counted at its path, and what is not there under no path', async () => {
  await service.call('PROPFIND', `/cards/${publicToken}`, { token: null })
  await service.call('PROPFIND', '/nothing-here', { token: null })
  const metrics = await service.call('GET', '//metrics', { token: null, listener: 'private' })
  const counted = (route: string, status: number) =>
    metrics.text.includes(`method="PROPFIND",route="${route}",status="${status}"`)
  assert.ok(counted('/thr/processor/cards/:publicToken', 405))
  assert.ok(counted('none', 404))
  assert.ok(!metrics.text.includes('nothing-here'))
})

test('HEAD answers as GET does, without a body, and never where a PIN is told', async () => {
  const head = await service.call('HEAD', `/cards/${publicToken}`)
  assert.deepEqual([head.status, head.text], [200, ''])
  const onPin = await service.call('HEAD', `/card-pin/${publicToken}/pin`)
  assert.deepEqual([onPin.status, onPin.text, onPin.headers.allow], [405, '', 'GET, POST'])
})

test('a sandbox answers to its own addresses, and 421 to any other name, before it looks at a token', async () => {
  const ask = (host: string, listener: 'public' | 'private') =>
    service.call('GET', listener === 'public' ? '/products' : '//problems', {
      headers: { host },
      listener,
    })
  for (const listener of ['public', 'private'] as const) {
    for (const host of ['127.0.0.1:8080', 'localhost:8080', 'LocalHost:8081', '[::1]:8080']) {
      assert.equal((await ask(host, listener)).status, 200, host)
    }
    for (const host of [
      'elsewhere.test',
      '127.0.0.1',
      '127.0.0.1:1',
      'localhost:8080.evil.test',
      '',
    ]) {
      const { json, status } = await ask(host, listener)
      assert.deepEqual([status, json.code], [421, 'misdirected_request'], host)
      assert.match(json.detail, /add the name to HOST_NAMES\.$/)
    }
  }
  const token = null
  const refused = await service.call('GET', '/products', { token, headers: { host: 'evil.test' } })
  assert.equal(refused.status, 421)
})

test('health and metrics answer under any name, and nothing else does', async () => {
  for (const host of ['10.0.3.7:8081', 'pod-7.cluster.test', '', 'evil.test']) {
    for (const path of ['//livez', '//readyz', '//health', '//metrics']) {
      const given = { listener: 'private', token: null, headers: { host } } as const
      assert.equal((await service.call('GET', path, given)).status, 200, `${host} ${path}`)
    }
  }
})

test('a sandbox answers to the names of HOST_NAMES as well', async () => {
  const named = await openTestService({
    env: { HOST_NAMES: 'Cards.test, other.test:9443,[fd00::7]' },
  })
  const ask = async (host: string) =>
    (await named.call('GET', '/products', { headers: { host } })).status
  for (const host of [
    'cards.test',
    'CARDS.test:8080',
    'cards.test:8081',
    'other.test:9443',
    '[fd00::7]',
  ]) {
    assert.equal(await ask(host), 200, host)
  }
  for (const host of [
    'cards.test:1',
    'other.test',
    'other.test:8080',
    'x.cards.test',
    '[fd00::8]',
  ]) {
    assert.equal(await ask(host), 421, host)
  }
})

test('HOST_NAMES with anything but names is refused at the start', () => {
  for (const names of ['https://cards.test', 'cards.test/x', 'cards.test,', 'a b', '*', '-x']) {
    assert.match(parseConfig({ HOST_NAMES: names }).faults.join(), /HOST_NAMES/, names)
  }
})

test('no answer allows a page of another origin to read it', async () => {
  const headers = { origin: 'https://elsewhere.test' }
  for (const [method, path] of [
    ['GET', '/products'],
    ['GET', '//oauth/jwks'],
    ['OPTIONS', '/cards'],
  ] as const) {
    const answer = await service.call(method, path, { headers })
    assert.equal(answer.headers['access-control-allow-origin'], undefined, path)
  }
})

const paths = [
  '//openapi.json',
  '//docs',
  '//docs/api/public.json',
  '//problems',
  '//problems/weak_pin',
  '//.well-known/jwks.json',
  '/keys/card-data-sign-1.pem',
  '//oauth/jwks',
  '//.well-known/oauth-authorization-server',
]

const ask = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
  service.call(method, path, { token: null, headers })

for (const path of paths) {
  test(`${path} is asked for each time, and sent only to who does not have it`, async () => {
    const { headers, status, text } = await ask(path)
    const etag = String(headers.etag)
    assert.deepEqual([status, headers['cache-control']], [200, 'no-cache'])
    assert.match(etag, /^"[A-Za-z0-9_-]{27}"$/)
    assert.equal((await ask(path)).text, text)
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await ask(path, { 'if-none-match': known })
      assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', etag], known)
    }
    const other = await ask(path, { 'if-none-match': '"other"' })
    assert.deepEqual([other.status, other.text], [200, text])
    const head = await ask(path, {}, 'HEAD')
    assert.deepEqual([head.status, head.text, head.headers.etag], [200, '', etag])
  })
}

test('the keys are exported once, and the set is another one as soon as there is another key', async () => {
  const { hsm } = service.issuing
  const [first, second] = [await hsm.cardDataKeys(), await hsm.cardDataKeys()]
  for (const [index, key] of first.entries()) assert.equal(key, second[index])
  const path = '//.well-known/jwks.json'
  const before = await ask(path)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await keepKeyVersion(service, 'card-data-pin', 2, privateKey)
  await service.keys.hsm.refreshKeys()
  const after = await ask(path, { 'if-none-match': String(before.headers.etag) })
  assert.equal(after.status, 200)
  assert.ok(after.json.keys.some(({ kid }: { kid: string }) => kid === 'card-data-pin-2'))
})

test('a path below the documents that no file can have is 404, and not a fault of the service', async () => {
  for (const path of [
    'index.html//',
    'index.html///',
    '/',
    '//',
    'a//b',
    '%00',
    '..%2f..%2fpackage.json',
  ]) {
    const { json, status } = await ask(`//docs/assets/${path}`)
    assert.deepEqual([status, json?.code], [404, 'not_found'], path)
  }
})

test('an answer that discloses names its entry of the audit log, which is its event; no other does', async () => {
  const listed = await service.call('GET', '/events?types=pin.revealed,card_data.revealed')
  const known = new Set(listed.json.map(({ id }: { id: string }) => id))
  const { body } = await requestCardData(service.serviceKeys, publicToken, { form: 'deviceKey' })
  const disclosed = [
    await service.call('GET', `/card-pin/${publicToken}/pin`),
    await service.getCardData(publicToken, body),
  ]
  const entries = disclosed.map(({ headers }) => String(headers['audit-entry']))
  const rows = await sql<{ id: string }>(
    service.database,
    `select event_id as "id" from event where type in ('pin.revealed', 'card_data.revealed')
     order by occurred_at desc, sequence desc limit 2`,
  )
  assert.deepEqual(rows.map(({ id }) => id).reverse(), entries)
  assert.ok(entries.every((entry) => /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(entry) && !known.has(entry)))
  for (const { headers, status } of [
    await service.call('GET', '/card-pin/9999999999/pin'),
    await service.getCardData(publicToken, { key: 'AAAA' }),
    await service.call('GET', `/card-pin/${publicToken}/pin/status`),
  ]) {
    assert.equal(headers['audit-entry'], undefined, `${status}`)
  }
})

test('the document gives that header to what discloses, and to nothing else', async () => {
  const { json } = await service.call('GET', '//openapi.json', { token: null })
  const named = Object.values<Record<string, Documented>>(json.paths)
    .flatMap((item) => Object.values(item))
    .filter(({ responses }) =>
      Object.values(responses).some(({ headers }) => headers?.['Audit-Entry']),
    )
  const names = named.map(({ operationId }) => operationId)
  assert.deepEqual(names.toSorted(), ['getCardData', 'getCurrentPin'])
})
