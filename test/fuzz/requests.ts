/** Requests to one route: such as it takes, and such as differ from one a little. */
import { METHODS } from 'node:http'
import fc, { type Arbitrary } from 'fast-check'
import type { Route } from '../support/routes.ts'
import type { CallerName } from '../support/service.ts'
import { bodiesFor, canaryPan, hostile, type SchemaNode, validOf } from './values.ts'

/** A request before its placeholders (`@card@`) are filled in. */
export interface Plan {
  readonly route: Route
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Whose token it carries; null: none. */
  readonly as: CallerName | 'nobody' | null
}

type Described = Route & { schema: { operationId?: string } }

interface Schemas {
  readonly params?: SchemaNode
  readonly querystring?: SchemaNode
  readonly body?: SchemaNode
}

const often = <Value>(usual: Arbitrary<Value>, seldom: Arbitrary<Value>, weight = 12) =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: seldom })

export function plans(route: Route): Arbitrary<Plan> {
  const schemas = route.schema as Schemas
  return fc.record({
    route: fc.constant(route),
    method: often(fc.constant(route.method), fc.constantFrom(...methods), 20),
    path: paths(route, schemas.params),
    query: queries(schemas.querystring),
    headers: headers(route),
    body: bodies(route as Described, schemas.body),
    as: often<Plan['as']>(
      fc.constant(callerFor(route)),
      fc.constantFrom('client', 'otherClient', 'network', 'admin', 'nobody', null),
      20,
    ),
  })
}

const methods = METHODS.filter((method) => method !== 'CONNECT')

function callerFor({ config, listener }: Route): Plan['as'] {
  if (config.access === 'open') return null
  if (listener === 'public') return 'client'
  return config.access === 'authorizations.write' ? 'network' : 'admin'
}

function paths({ url }: Route, params: SchemaNode | undefined): Arbitrary<string> {
  const segments = url.split('/').map((segment) => {
    const [, name, rest = ''] = /^:(\w+)(?:\(.*\))?(.*)$/.exec(segment) ?? []
    if (name === undefined) return fc.constant(segment)
    const usual = validOf(params?.properties?.[name] ?? { type: 'string' }, name).map(String)
    return often(usual, hostile.map(String)).map((value) => `${encoded(value)}${rest}`)
  })
  return often(
    fc.tuple(...segments).map((list) => list.join('/')),
    fc
      .tuple(
        fc.tuple(...segments).map((list) => list.join('/')),
        fc.constantFrom(
          '/',
          '/%zz',
          '%00',
          '%ff',
          '/..',
          '//',
          '%2f',
          ';a=b',
          `/${'a'.repeat(2_100)}`,
        ),
      )
      .map((parts) => parts.join('')),
    25,
  )
}

/**
 * Percent-encoded; what is no text at all goes as the bytes of a lone surrogate, which is no UTF-8.
 */
const encoded = (text: string): string =>
  text.startsWith('@cursor')
    ? text
    : encodeURIComponent(text.replaceAll('@', '\u0001').toWellFormed()).replaceAll('%01', '@')

function queries(schema: SchemaNode | undefined): Arbitrary<string> {
  const properties = Object.entries(schema?.properties ?? {})
  const known = properties.map(([name, each]) =>
    often(validOf(each, name).map(String), hostile.map(String), 4).map(
      (value) => `${name}=${encoded(value)}`,
    ),
  )
  const unknown = fc.constantFrom(
    ...[
      'unknown=1',
      '__proto__=1',
      'limit=1&limit=1',
      'limit[]=1',
      'cursor=%zz',
      'a=%ff',
      '=',
      '&',
    ],
    ...['cursor=', 'LIMIT=1', 'constructor=', '%00=1', `a=${'b'.repeat(2_100)}`],
  )
  const usual =
    known.length === 0
      ? fc.constant('')
      : fc
          .subarray(known, { maxLength: Math.min(3, known.length) })
          .chain((some) => fc.tuple(...some).map((list) => list.join('&')))
  return often(
    usual,
    fc.tuple(usual, unknown).map((list) => list.filter(Boolean).join('&')),
    10,
  )
}

function headers({ schema }: Route): Arbitrary<Record<string, string>> {
  const type = schema.body === undefined ? fc.constant('') : fc.constant('application/json')
  const contentTypes = fc.constantFrom(
    ...[
      '',
      'text/plain',
      'application/json; charset=utf-16',
      'application/json;charset="UTF-8"',
      ';',
    ],
    ...[
      'application/json',
      'multipart/form-data',
      'application/x-www-form-urlencoded',
      'a'.repeat(300),
    ],
  )
  const keys = fc.constantFrom(
    '',
    '@unique@',
    'fuzz-1',
    'fuzz-2',
    ' ',
    'é',
    'a'.repeat(256),
    '\u007f',
  )
  return fc
    .record({
      'content-type': often(type, contentTypes),
      'idempotency-key': often(fc.constantFrom('', '', '@unique@'), keys),
      idempotencykey: often(fc.constant(''), keys, 40),
      'api-version': often(fc.constant(''), fc.constantFrom('2026-11-20', '2020-01-01', '1e3'), 20),
      'x-request-id': often(fc.constant(''), fc.constantFrom('r-1', 'a b', 'a'.repeat(65)), 20),
      'last-event-id': often(fc.constant(''), fc.constantFrom('@event@', '\u00ff', 'a'), 40),
      'content-encoding': often(fc.constant(''), fc.constantFrom('gzip', 'identity'), 60),
      traceparent: often(fc.constant(''), fc.constantFrom('00-1-1-1', '\u00ff'), 60),
      accept: often(fc.constant(''), fc.constantFrom('application/xml', '*/*;q=0', '\u00ff'), 40),
      host: often(fc.constant(''), fc.constantFrom('elsewhere.example', '127.0.0.1', '\u00ff'), 80),
    })
    .map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== '')))
}

function bodies(
  { method, schema: { operationId } }: Described,
  schema: SchemaNode | undefined,
): Arbitrary<string | null> {
  const none = fc.constant(null)
  const any = fc.oneof(
    fc.constantFrom<string | null>(
      ...[
        '',
        ' ',
        '{}',
        'null',
        '[]',
        '0',
        '"a"',
        `"${canaryPan}"`,
        '{',
        '{"a":1,"a":2}',
        '\ufeff{}',
      ],
      ...['{"a":-0}', '{"a":1e400}', '{"pin":7193}', '{"__proto__":{}}', '{"a":"\\u0000"}'],
      ...[
        `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
        `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`,
      ],
      `"${'a'.repeat(70_000)}"`,
    ),
    fc.json({ maxDepth: 3 }),
  )
  if (method === 'GET') return often(none, any, 30)
  if (!schema) return often(none, any, 6)
  const made = bodiesFor(operationId)
  const valid =
    made.length === 0 ? validOf(schema) : fc.oneof(validOf(schema), fc.constantFrom(...made))
  const changed = fc
    .tuple(valid, fc.array(mutations, { minLength: 1, maxLength: 2 }))
    .map(([value, list]) => list.reduce(mutate, value))
  const raw = fc
    .tuple(valid, fc.constantFrom(',', '}', '1e400', '\u0000', '"a":1'))
    .map(([value, text]) => `${JSON.stringify(value)}${text}`)
  return fc.oneof(
    { weight: 8, arbitrary: valid.map((value) => JSON.stringify(value)) },
    { weight: 10, arbitrary: changed.map((value) => JSON.stringify(value) ?? 'null') },
    { weight: 1, arbitrary: raw },
    { weight: 1, arbitrary: any },
    { weight: 1, arbitrary: none },
  )
}

interface Mutation {
  /** Which of the places in the value, counted around. */
  readonly at: number
  readonly kind: 'replace' | 'remove' | 'add'
  readonly value: unknown
}

const mutations: Arbitrary<Mutation> = fc.record({
  at: fc.nat(1_000),
  kind: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add'),
  value: hostile,
})

function mutate(value: unknown, { at, kind, value: given }: Mutation): unknown {
  const copy = structuredClone(value)
  const slots = slotsOf(copy)
  const slot = slots[at % Math.max(1, slots.length)]
  if (!slot) return given
  const { holder, name } = slot
  if (kind === 'remove') delete holder[name]
  else holder[kind === 'add' ? 'unknownMember' : name] = given
  return copy
}

interface Slot {
  readonly holder: Record<string, unknown>
  readonly name: string
}

const slotsOf = (value: unknown): Slot[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([name, each]) => [
        { holder: value as Record<string, unknown>, name },
        ...slotsOf(each),
      ])
