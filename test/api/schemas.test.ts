import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import { stringFormats } from '../../src/api/schemas/formats.ts'
import { openWithRoutes, type Route } from '../support/routes.ts'
import { openTestService, type TestService } from '../support/service.ts'

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
])

let routes: readonly Route[]
let service: TestService

before(async () => {
  const opened = await openWithRoutes(() => openTestService())
  routes = opened.routes
  service = opened.service
})

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
  ]
}

const faultsOf = (type: string, schema: SchemaNode): string[] => {
  const has = (...keywords: string[]) => keywords.every((keyword) => schema[keyword] !== undefined)
  if (type === 'string') return textFaults(schema)
  if (type === 'integer') return has('minimum', 'maximum') ? [] : ['a number without bounds']
  if (type === 'number') return ['a number that need not be whole']
  if (type === 'array') return has('maxItems', 'items') ? [] : ['a list without an end']
  if (type === 'object') {
    // The keys of a client: RFC 7517 has members that are not known ignored.
    const isJwk = schema.additionalProperties === true && has('maxProperties')
    return schema.additionalProperties === false || isJwk ? [] : ['an open object']
  }
  return []
}

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
