import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { before, test } from 'node:test'
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import { selectScopeListener } from '../../../src/domain/client.ts'
import { problemKinds } from '../../../src/domain/problem-kinds.ts'
import { listNeededScopes } from '../../../src/listeners/http/authentication.ts'
import { stringFormats } from '../../../src/listeners/public/schemas/formats.ts'
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
/**
 * What reads and answers in terms of its own: the token endpoint, and the pages of the demo, the
 * audit log and the console.
 */
const isForeign = ({ url }: Route): boolean =>
  /^\/(?:oauth|\.well-known\/oauth|demo|audit$|audit\/assets|console)/.test(url)

test('every route says which scope it needs, or that it is open, and belongs to its listener', () => {
  assert.ok(routes.length > 20)
  for (const { config, listener, method, url } of routes) {
    const access = config?.access
    assert.ok(access, `${method} ${url}`)
    if (access === 'open') continue
    for (const scope of listNeededScopes(access))
      assert.equal(selectScopeListener(scope), listener, url)
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
  // The pages that explain problems are on both, and each listener has a document and a reference
  // of its own, and a first page.
  const onPrivate = [...new Set(privateUrls)].filter(
    (url) => !/^\/(?:$|problems|docs|openapi\.json)/.test(url),
  )
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
    assert.match(page.text, /<form class="find" action="\/docs\/search"/)
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

test('PROCESSOR_PATH takes the place of processor in every path, and in Location', async () => {
  const service = await openTestService({ env: { PROCESSOR_PATH: 'thredd' } })
  const { headers, json, status } = await service.call('POST', '//thr/thredd/cards', {
    body: {
      cardType: 'Virtual',
      cardProduct: 1001,
      cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
      address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
    },
  })
  assert.equal(status, 201)
  assert.equal(headers.location, `/thr/thredd/cards/${json.publicToken}`)
  assert.equal((await service.call('GET', '//thr/thredd/products')).status, 200)
  assert.equal((await service.call('GET', '//thr/processor/products')).status, 404)
})

interface SchemaNode {
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly SchemaNode[]
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
  readonly [keyword: string]: unknown
}

/** Formats of text that has no length but its own. */
const bounding = new Set([
  ...['birth-date', 'card-type', 'country-code', 'id', 'instant', 'name-on-card', 'year-month'],
  'network-reference',
  'product-id',
])

/** Everything in a schema that lets more in than it says. */
const looseParts = (schema: SchemaNode, at: string): string[] => {
  const own = [schema.type].flat().flatMap((type) => faultsOf(String(type), schema))
  return [
    ...own.map((fault) => `${at}: ${fault}`),
    ...(schema.anyOf ?? []).flatMap((each, index) => looseParts(each, `${at}|${index}`)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, each]) =>
      looseParts(each, `${at}/${name}`),
    ),
    ...(schema.items ? looseParts(schema.items, `${at}[]`) : []),
    ...(isSchema(schema.additionalProperties)
      ? looseParts(schema.additionalProperties, `${at}/*`)
      : []),
    ...(isSchema(schema.propertyNames)
      ? looseParts({ ...schema.propertyNames, type: 'string' }, `the names in ${at}`)
      : []),
  ]
}

const faultsOf = (type: string, schema: SchemaNode): string[] => {
  const has = (...keywords: string[]) => keywords.every((keyword) => schema[keyword] !== undefined)
  if (type === 'string') return textFaults(schema)
  if (type === 'integer') return has('minimum', 'maximum') ? [] : ['a number without bounds']
  if (type === 'number') return ['a number that need not be whole']
  if (type === 'array') return has('maxItems', 'items') ? [] : ['a list without an end']
  if (type === 'object') {
    // Members that are not known are ignored: in keys by RFC 7517, in the answers of clients because
    // they are the client's own.
    const isIgnoring = schema.additionalProperties === true && has('maxProperties')
    // A map has a limit of entries and of their names; its values are parts of their own.
    const isMap = has('maxProperties', 'propertyNames') && isSchema(schema.additionalProperties)
    const isClosed = schema.additionalProperties === false || isIgnoring || isMap
    return isClosed ? [] : ['an open object']
  }
  return []
}

const isSchema = (value: unknown): value is SchemaNode =>
  typeof value === 'object' && value !== null

const textFaults = ({ const: only, enum: words, format, maxLength, pattern }: SchemaNode) => {
  if (only !== undefined || words !== undefined) return []
  const name = String(format)
  const isBounded = maxLength !== undefined || bounding.has(name) || isBoundedPattern(pattern)
  const isOwn =
    format === undefined ||
    Object.hasOwn(
      stringFormats(() => ''),
      name,
    )
  return [
    ...(isBounded ? [] : ['a text without an end']),
    // The validator's own take more than the database does: `uuid` takes a URN.
    ...(isOwn ? [] : [`the format ${name}, which is not one of ours`]),
  ]
}

/** A pattern of a whole text, with nothing in it that repeats for ever. */
const isBoundedPattern = (pattern: unknown): boolean =>
  typeof pattern === 'string' && /^\^.*\$$/.test(pattern) && !/[*+]|,\}/.test(pattern)

test('every part of every body and query has an end: texts, numbers, lists and members', () => {
  const found = routes.flatMap(({ listener, method, schema, url }) =>
    (['body', 'querystring'] as const).flatMap((part) =>
      looseParts((schema[part] ?? {}) as SchemaNode, `${listener} ${method} ${url} ${part}`),
    ),
  )
  assert.deepEqual([...new Set(found)], [])
})

test('every route that answers says what it takes of a query, and a changing one of a body', () => {
  const own = routes.filter(({ schema }) => schema.response)
  assert.ok(own.length > 60)
  for (const { method, schema, url } of own) {
    assert.ok(schema.querystring, `${method} ${url}`)
    assert.equal(schema.body !== undefined, /^(?:POST|PUT|PATCH)$/.test(method), `${method} ${url}`)
  }
})

test('every schema can be compiled, which the service does not try before it needs one', () => {
  const compileAnswer = SerializerSelector()({}, {})
  let compiled = 0
  for (const { listener, method, schema, url } of routes) {
    const { validatorCompiler } =
      listener === 'public' ? service.publicServer : service.privateServer
    for (const httpPart of ['body', 'querystring', 'params', 'headers'] as const) {
      if (schema[httpPart] === undefined) continue
      const validate = validatorCompiler?.({ schema: schema[httpPart], method, url, httpPart })
      assert.equal(typeof validate?.({}), 'boolean', `${method} ${url} ${httpPart}`)
      compiled += 1
    }
    for (const [httpStatus, answer] of Object.entries(schema.response ?? {})) {
      compileAnswer({ schema: answer, method, url, httpStatus })
      compiled += 1
    }
  }
  assert.ok(compiled > 250, `${compiled}`)
})
