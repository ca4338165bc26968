import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { listNeededScopes } from '../../../src/listeners/http/authentication.ts'
import { openWithRoutes, type Route } from '../../support/routes.ts'
import { openTestService, type TestService } from '../../support/service.ts'

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly security: readonly { readonly oauth2: readonly string[] }[]
  readonly parameters?: readonly { readonly $ref?: string }[]
  readonly responses: Readonly<Record<string, object>>
}

interface Document {
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

let service: TestService
let routes: readonly Route[]
let document: Document

const open = { listener: 'private', token: null } as const

before(async () => {
  const opened = await openWithRoutes(() => openTestService())
  service = opened.service
  routes = opened.routes.filter(
    ({ listener, method }) => listener === 'private' && method !== 'HEAD',
  )
  document = (await service.call('GET', '//openapi.json', open)).json
})

const operationOf = ({ method, url }: Route): Operation | undefined =>
  document.paths[url.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]

/**
 * Pages, files of the audit log, the text of metrics, and this document: what is no JSON of an
 * operation.
 */
const isOther =
  /^\/(?:$|docs|console|openapi\.json$|problems|metrics$|audit$|audit\/assets|audit\/(?:logs\/:log\/)?(?:checkpoint|keys|tile\/\*)$)/

test('the document of the private listener is valid OpenAPI 3.1, and its references lead somewhere', async () => {
  const { errors, valid } = await new Validator().validate({ ...document })
  assert.ok(valid, JSON.stringify(errors))
  for (const [, pointer = ''] of JSON.stringify(document).matchAll(/"\$ref":"#([^"]+)"/g)) {
    const found = pointer
      .split('/')
      .slice(1)
      .reduce<unknown>((node, name) => (node as Record<string, unknown>)?.[name], document)
    assert.ok(found, pointer)
  }
})

test('a yes or no in a query is a boolean', () => {
  const texts = Object.values(document.paths)
    .flatMap((operations) => Object.values(operations))
    .flatMap(({ parameters = [] }) => parameters)
    .filter((each) => /"(?:true|false)"/.test(JSON.stringify(each)))
  assert.deepEqual(texts, [])
})

test('the values of every enumeration are of the type that it names', () => {
  const wrong: string[] = []
  const look = (node: unknown, pointer: string): void => {
    if (typeof node !== 'object' || node === null) return
    const { enum: values, type } = node as { enum?: unknown; type?: unknown }
    if (Array.isArray(values) && type !== undefined) {
      const isOfType = (value: unknown) =>
        type === 'integer' ? Number.isInteger(value) : typeof value === type
      if (!values.every(isOfType)) wrong.push(`${pointer}: ${type} of ${values}`)
    }
    for (const [name, value] of Object.entries(node)) look(value, `${pointer}/${name}`)
  }
  look(document, '')
  assert.deepEqual(wrong, [])
})

test('every route that answers with JSON is described, and nothing else is', () => {
  const described = routes.filter((route) => operationOf(route))
  const expected = routes.filter(({ url }) => !isOther.test(url))
  const shown = (those: readonly Route[]) =>
    those.map(({ method, url }) => `${method} ${url}`).sort()
  assert.ok(expected.length > 50)
  assert.deepEqual(shown(described), shown(expected))
})

test('each operation has a name of its own, a summary, a tag that is explained, and its scopes', () => {
  const known = document.tags.map(({ name }) => name)
  const names = new Set<string>()
  for (const route of routes) {
    const operation = operationOf(route)
    if (!operation) continue
    const { operationId, security, summary, tags } = operation
    assert.ok(!names.has(operationId), operationId)
    names.add(operationId)
    assert.ok(summary.length > 3, operationId)
    assert.ok(tags.length === 1 && known.includes(tags[0] ?? ''), `${operationId}: ${tags}`)
    const { access = 'open' } = route.config
    const scopes = access === 'open' ? [] : listNeededScopes(access)
    assert.deepEqual(
      security,
      scopes.map((scope) => ({ oauth2: [scope] })),
      operationId,
    )
  }
  for (const { name } of document.tags) {
    const isUsed = routes.some((route) => operationOf(route)?.tags.includes(name))
    assert.ok(isUsed, `nothing is under ${name}`)
  }
})

test('an operation that can be sent again says so, and one that needs a token what it refuses', () => {
  for (const route of routes) {
    const operation = operationOf(route)
    if (!operation) continue
    const takesKey = operation.parameters?.some(
      ({ $ref }) => $ref === '#/components/parameters/IdempotencyKey',
    )
    assert.equal(takesKey === true, route.config.repeatable === true, operation.operationId)
    const refused = route.config.access === 'open' ? ['500'] : ['400', '401', '403', '500', '503']
    for (const status of refused) {
      assert.ok(operation.responses[status], `${operation.operationId} does not tell of ${status}`)
    }
  }
})
