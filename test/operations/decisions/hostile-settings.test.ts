import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { targetCheck } from '../../../src/outbound/target-url.ts'
import { readConfig } from '../../../src/service/config/config.ts'
import { targetRules } from '../../../src/service/outbound.ts'
import { openTestService, sql } from '../../support/service.ts'
import { findEndpoint, setEndpoint } from './endpoint-service.ts'

const service = await openTestService()
const url = 'https://decide.example.com/'

const pointersOf = async (settings: object): Promise<string[]> => {
  const answer = await setEndpoint(service, settings)
  assert.equal(answer.status, 422, answer.text)
  assert.equal(answer.json.code, 'validation_failed')
  return answer.json.errors.map(({ pointer }: { pointer: string }) => pointer)
}

test('settings out of their bounds are refused, each with its member, and nothing is stored', async () => {
  const cases: readonly (readonly [string, object])[] = [
    ['/timeoutMs', { url, timeoutMs: 99 }],
    ['/timeoutMs', { url, timeoutMs: 2_501 }],
    ['/timeoutMs', { url, timeoutMs: 500.5 }],
    ['/timeoutMs', { url, timeoutMs: '500' }],
    ['/maxInFlight', { url, maxInFlight: 0 }],
    ['/maxInFlight', { url, maxInFlight: 1_001 }],
    ['/sample', { url, sample: 0 }],
    ['/sample', { url, sample: 101 }],
    ['/mode', { url, mode: 'off' }],
    ['/format', { url, format: 'xml' }],
    ['/fallback/onTimeout', { url, fallback: { onTimeout: 'maybe' } }],
    ['/fallback/rule', { url, fallback: { onError: 'rule' } }],
    ['/fallback/rule', { url, fallback: { rule: '' } }],
    ['/fallback/rule', { url, fallback: { rule: 'x'.repeat(5_000) } }],
    ['/fallback/rule', { url, fallback: { onError: 'rule', rule: 'this is no rule' } }],
    ['/fallback/other', { url, fallback: { other: 1 } }],
    ['/secret', { url, secret: 'whsec_mine' }],
    ['/format', { format: 'thredd-ehi' }],
  ]
  for (const [pointer, settings] of cases) {
    assert.deepEqual(await pointersOf(settings), [pointer], JSON.stringify(settings).slice(0, 80))
  }
  assert.equal((await findEndpoint(service)).status, 404)
})

test('an address that must not be called is refused', async () => {
  for (const target of [
    'ftp://decide.example.com/',
    'javascript:alert(1)',
    'http://169.254.169.254/latest/meta-data',
    'http://10.0.0.1/',
    'http://[::ffff:10.0.0.1]/',
    'http://user:password@decide.example.com/',
    'https://decide.example.com/#part',
    'https://decide.example.com/4000001234567899',
    'http://127.0.0.1:8080/',
    'decide',
    '',
    `https://decide.example.com/${'x'.repeat(1_000)}`,
  ]) {
    assert.deepEqual(await pointersOf({ url: target }), ['/url'], target)
  }
})

test('in production only https is taken', async () => {
  const rules = targetRules(readConfig({ SANDBOX: 'true' }))
  const check = targetCheck({ ...rules, httpsOnly: true })
  assert.equal(check('http://decide.example.com/'), 'must be an https URL')
})

test('a product that is not granted has no endpoint, and an unreadable one is refused', async () => {
  const unknown = await setEndpoint(service, { url }, '?productId=9999')
  assert.deepEqual([unknown.status, unknown.json.code], [422, 'product_not_available'])
  assert.equal(unknown.json.errors[0].parameter, 'productId')
  for (const query of [
    '?productId=0',
    '?productId=2147483648',
    '?productId=1001a',
    '?productId=',
    '?product=1001',
  ]) {
    const unreadable = await setEndpoint(service, { url }, query)
    assert.deepEqual([unreadable.status, unreadable.json.code], [422, 'validation_failed'], query)
  }
})

test('a client sees and changes its own endpoint only, with the scope decisions.write', async () => {
  assert.equal((await setEndpoint(service, { url })).status, 200)
  const token = await service.token('payments.read')
  for (const [method, path] of [
    ['GET', '/decision-endpoint'],
    ['PUT', '/decision-endpoint'],
    ['DELETE', '/decision-endpoint'],
    ['POST', '/decision-endpoint/activate'],
    ['POST', '/decision-endpoint/rollback'],
    ['POST', '/decision-endpoint/rotate-secret'],
  ] as const) {
    const body = method === 'PUT' ? { body: { url } } : {}
    const refused = await service.call(method, path, { token, ...body })
    assert.equal(refused.json.code, 'insufficient_scope', `${method} ${path}`)
    if (method === 'PUT') continue
    const other = await service.call(method, path, { as: 'otherClient' })
    assert.equal(other.json.code, 'not_found', `${method} ${path}`)
  }
})

test('the secret is shown once, and is in no answer, log or idempotency record afterwards', async () => {
  const lines: string[] = []
  const logged = await openTestService({ onLogLine: (line) => lines.push(line) })
  const headers = { 'idempotency-key': randomUUID() }
  const first = await setEndpoint(logged, { url }, '', { headers })
  const { secret } = first.json
  const again = await setEndpoint(logged, { url }, '', { headers })
  assert.equal(again.json.secret, undefined)
  assert.doesNotMatch((await findEndpoint(logged)).text, /whsec_/)
  const { keyId } = first.json.signingKeys[0]
  assert.match(keyId, /^dk_/)
  for (const line of lines) assert.ok(!line.includes(secret))
  const [row] = await sql<{ sealed_keys: Uint8Array }>(
    logged.database,
    'select sealed_keys from decision_signing_key',
  )
  assert.ok(!Buffer.from(row?.sealed_keys ?? []).includes(Buffer.from(secret.slice(6), 'base64')))
})

test('a client registers at most a hundred versions of an endpoint in a day', async () => {
  const fresh = await openTestService({ env: { RATE_LIMIT: 'off' } })
  for (let count = 1; count <= 100; count += 1) {
    const answer = await setEndpoint(fresh, { url, timeoutMs: 1_000 + count })
    assert.equal(answer.status, 200, answer.text)
  }
  const refused = await setEndpoint(fresh, { url, timeoutMs: 999 })
  assert.deepEqual([refused.status, refused.json.code], [429, 'rate_limited'])
  const seconds = Number(refused.headers['retry-after'])
  assert.ok(seconds > 86_000 && seconds <= 86_400, String(seconds))
  assert.equal((await setEndpoint(fresh, { url, timeoutMs: 1_100 })).status, 200)
})
