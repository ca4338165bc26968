import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { before, test } from 'node:test'
import { isScope, scopeListeners } from '../../../src/domain/client.ts'
import { problemKinds } from '../../../src/domain/problem.ts'
import { openWithRoutes, type Route } from '../../support/routes.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import { operations } from './operations.ts'

let routes: readonly Route[]
let service: TestService

before(async () => {
  const opened = await openWithRoutes(() => openTestService())
  service = opened.service
  routes = opened.routes
})

const isReference = ({ url }: Route): boolean => url.startsWith('/docs')
/** What reads and answers in terms of its own: the token endpoint, and the demo's pages. */
const isForeign = ({ url }: Route): boolean => /^\/(?:oauth|\.well-known\/oauth|demo)/.test(url)

test('every route says which scope it needs, or that it is open, and belongs to its listener', () => {
  assert.ok(routes.length > 20)
  for (const { config, listener, method, url } of routes) {
    const access = config?.access
    assert.ok(access, `${method} ${url}`)
    if (access !== 'open') assert.ok(isScope(access) && scopeListeners[access] === listener, url)
  }
})

test('every route that answers has a schema of its answer', () => {
  const own = routes.filter((route) => !isReference(route) && !isForeign(route))
  assert.ok(own.length > 20)
  for (const { method, schema, url } of own) {
    assert.ok(schema?.response, `${method} ${url}`)
  }
})

test('open are, on the public listener, only documents and the token endpoint', () => {
  const open = routes
    .filter((route) => route.config?.access === 'open' && !isReference(route))
    .filter(({ listener }) => listener === 'public')
  const known =
    /^\/$|^\/openapi\.json$|^\/problems|^\/oauth\/(token|jwks)$|^\/\.well-known\/|\/keys\/:kid|^\/demo/
  for (const { url } of open) assert.match(url, known)
})

test('nothing of the private listener is reachable through the public one', async () => {
  const isPublic = new Set(
    routes.filter(({ listener }) => listener === 'public').map(({ url }) => url),
  )
  const privateUrls = routes.filter(({ listener }) => listener === 'private').map(({ url }) => url)
  // The pages that explain problems are on both.
  const onPrivate = [...new Set(privateUrls)].filter((url) => !url.startsWith('/problems'))
  assert.ok(onPrivate.includes('/metrics'))
  for (const url of onPrivate) {
    assert.ok(!isPublic.has(url), url)
    for (const as of ['client', 'network', 'admin'] as const) {
      const path = `/${url.replaceAll(/:\w+/g, '1')}`
      for (const method of ['GET', 'POST']) {
        const token = await service.token(undefined, as)
        const answer = await service.call(method, path, { token })
        assert.deepEqual([answer.status, answer.json.code], [404, 'not_found'], path)
      }
    }
  }
})

test('nothing of the public listener is reachable through the private one', async () => {
  for (const { method, path } of operations) {
    const answer = await service.call(method, path('1234567890'), { listener: 'private' })
    assert.deepEqual([answer.status, answer.json.code], [404, 'not_found'])
  }
  const token = await service.call('POST', '//oauth/token', { listener: 'private', token: null })
  assert.equal(token.status, 404)
})

test('what an operator watches answers on the private listener without a token', async () => {
  const open = { listener: 'private', token: null } as const
  assert.deepEqual((await service.call('GET', '//livez', open)).json, { status: 'alive' })
  assert.deepEqual((await service.call('GET', '//readyz', open)).json, { status: 'ready' })
  const card = await service.createCard()
  await service.call('GET', `/cards/${card.publicToken}`)
  const metrics = await service.call('GET', '//metrics', open)
  assert.equal(metrics.status, 200)
  assert.match(String(metrics.headers['content-type']), /^text\/plain/)
  assert.match(
    metrics.text,
    /pinfold_http_request_duration_seconds_count\{listener="public",method="GET",route="\/thr\/processor\/cards\/:publicToken",status="200"\} 1/,
  )
  assert.ok(!metrics.text.includes(card.publicToken), 'no card is named in a metric')
})

test('the type of every problem leads to a page that explains it', async () => {
  const index = await service.call('GET', '//problems', { token: null })
  for (const [code, { status, title }] of Object.entries(problemKinds)) {
    const page = await service.call('GET', `//problems/${code}`, { token: null })
    assert.equal(page.status, 200, code)
    assert.match(String(page.headers['content-type']), /^text\/html/)
    for (const text of [code, String(status), title]) assert.ok(page.text.includes(text), code)
    assert.ok(index.text.includes(`/problems/${code}`), code)
  }
  for (const unknown of ['nothing', '__proto__', 'constructor', '%00']) {
    const answer = await service.call('GET', `//problems/${unknown}`, { token: null })
    assert.deepEqual([answer.status, answer.json.code], [404, 'not_found'], unknown)
  }
})

test('every code of the table of failures is thrown somewhere', async () => {
  const source = new URL('../../../src/', import.meta.url)
  const names = await readdir(source, { recursive: true })
  const files = names.filter((name) => name.endsWith('.ts'))
  const texts = await Promise.all(files.map((name) => readFile(new URL(name, source), 'utf8')))
  const all = texts.join('\n')
  const missing = Object.keys(problemKinds).filter(
    (code) => !new RegExp(`(?:new Problem|super)\\(\\s*'${code}'`).test(all),
  )
  assert.deepEqual(missing, [])
})
