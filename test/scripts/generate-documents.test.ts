import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Validator } from '@seriousme/openapi-schema-validator'
import Schema from 'typebox/schema'
import { findStale, generateDocuments } from '../../scripts/generate-documents.ts'
import { problemKinds } from '../../src/domain/problem-kinds.ts'
import { shortLived } from '../support/node-flags.ts'
import { openEmbedded } from '../support/service.ts'

const root = new URL('../../', import.meta.url)

interface Operation {
  readonly operationId: string
  readonly security: readonly Record<string, readonly string[]>[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Record<string, { schema: { $ref?: string }; example?: object }>
  }
  readonly responses: Record<string, Answer>
}

interface Answer {
  readonly $ref?: string
  readonly headers?: Record<string, object>
  readonly content?: Record<string, { schema: object; example?: unknown }>
}

interface Document {
  readonly openapi: string
  readonly servers: readonly { url: string }[]
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: Record<string, Record<string, unknown>>
}

let documents: Readonly<Record<string, string>>
let document: Document
let operations: readonly (readonly [string, Operation])[]
before(async () => {
  documents = await generateDocuments(undefined, openEmbedded)
  document = JSON.parse(documents['api/public.openapi.json'] ?? '')
  operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(
      ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
    ),
  )
})

test('the generated files are what the code says', async () => {
  for (const [path, text] of Object.entries(documents)) {
    const written = await readFile(new URL(path, root), 'utf8')
    assert.ok(written === text, `${path} differs: npm run generate`)
  }
})

test('the types of the SDK break descriptions and unions of texts at 100 columns', async () => {
  for (const folder of ['client', 'admin']) {
    const path = `packages/sdk/${folder}/generated/openapi.ts`
    const types = await readFile(new URL(path, root), 'utf8')
    const long = types.split('\n').filter((line) => line.length > 100)
    const breakable = long.filter((line) => /^ *\* +\S+ |\/\*\*|" \| "/.test(line))
    assert.deepEqual(breakable, [], path)
  }
})

test('the check fails where ARCHITECTURE.md has other arrows than the check of the structure', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'pinfold-generated-'))
  t.after(() => rm(folder, { recursive: true }))
  for (const path of Object.keys(documents)) await cp(new URL(path, root), join(folder, path))
  const script = fileURLToPath(new URL('scripts/generate-documents.ts', root))
  assert.deepEqual(await findStale(folder, documents), [])
  const file = join(folder, 'ARCHITECTURE.md')
  const text = await readFile(file, 'utf8')
  const changed = text.replace(/^(listeners\/public +─►) /m, '$1 crypto, ')
  assert.notEqual(changed, text)
  await writeFile(file, changed)
  const command = [...shortLived, script, '--check', folder]
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' })
  assert.equal(status, 1)
  assert.equal(stderr, 'ARCHITECTURE.md differs from the code: run npm run generate\n')
})

test('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator()
  const { errors, valid } = await validator.validate({ ...document })
  assert.ok(valid, JSON.stringify(errors))
  assert.equal(validator.version, '3.1')
})

test('every reference in the document leads somewhere', () => {
  const text = documents['api/public.openapi.json'] ?? ''
  for (const [, pointer = ''] of text.matchAll(/"\$ref": "#([^"]+)"/g)) {
    const found = pointer
      .split('/')
      .slice(1)
      .reduce<unknown>((node, name) => (node as Record<string, unknown>)?.[name], document)
    assert.ok(found, pointer)
  }
})

test('the eight operations of the specification stand under its paths', () => {
  const specified: Record<string, string> = {
    'GET /thr/processor/products': '200',
    'POST /thr/processor/cards': '201',
    'POST /thr/processor/card-pin/{publicToken}/pin': '204',
    'GET /thr/processor/card-cvv/{publicToken}/cvv/status': '200',
    'PUT /thr/processor/card-cvv/{publicToken}/cvv/status': '204',
    'GET /thr/processor/card-pin/{publicToken}/pin': '200',
    'GET /thr/processor/card-pin/{publicToken}/pin/status': '200',
    'POST /thr/processor/card-pin/{publicToken}/pin/unblock': '204',
  }
  const found = new Map(operations)
  for (const [operation, status] of Object.entries(specified)) {
    const successes = Object.keys(found.get(operation)?.responses ?? {}).filter((each) =>
      each.startsWith('2'),
    )
    assert.deepEqual(successes, [status], operation)
  }
})

test('an integrator finds the scope of every operation, and what it refuses', () => {
  for (const [name, { responses, security }] of operations) {
    assert.equal(security[0]?.oauth2?.length, 1, name)
    for (const status of ['400', '401', '403', '429', '500', '503']) {
      assert.ok(responses[status], `${name} does not tell of ${status}`)
    }
  }
})

test('a created card is found by its Location', () => {
  const responses = document.paths['/thr/processor/cards']?.post?.responses
  assert.ok(responses?.['201']?.headers?.Location)
})

test('every body has an example, in both documents, and every example is one that its schema allows', () => {
  let checked = 0
  for (const path of ['api/public.openapi.json', 'api/private.openapi.json']) {
    const { components, paths }: Document = JSON.parse(documents[path] ?? '')
    for (const operation of Object.values(paths).flatMap((item) => Object.values(item))) {
      const { operationId, requestBody, responses } = operation
      if (requestBody) {
        const [media] = Object.values(requestBody.content)
        assert.ok(media?.example, `${operationId} has no example`)
      }
      const bodies = [requestBody, ...Object.values(responses)].flatMap((each) =>
        Object.values(each?.content ?? {}),
      )
      for (const { example, schema } of bodies) {
        if (example === undefined) continue
        assert.ok(Schema.Check({ ...schema, components }, example), operationId)
        checked += 1
      }
    }
  }
  assert.ok(checked > 70, `${checked}`)
})

test('every JSON answer of the public document has an example', () => {
  for (const [name, { responses }] of operations) {
    const [first] = Object.entries(responses)
    const media = first?.[1].content?.['application/json']
    if (media) assert.ok(media.example !== undefined, `${name} is not in answer-examples.ts`)
  }
})

test('bodies have names and examples', () => {
  for (const [name, { requestBody }] of operations) {
    if (!requestBody) continue
    const media = requestBody.content['application/json']
    assert.ok(media?.schema.$ref, `the body of ${name} is not in openapi/finish-document.ts`)
    assert.ok(media?.example, `the body of ${name} is not in openapi/examples.ts`)
  }
})

test('a body that says nothing needed may be left out, others may not', () => {
  const needed = operations.filter(([, { requestBody }]) => requestBody?.required === false)
  assert.deepEqual(
    needed.map(([, { operationId }]) => operationId),
    [
      'replaceCard',
      'completeReplacement',
      'renewCard',
      'unblockPin',
      'activateDecisionEndpoint',
      'rollBackDecisionEndpoint',
      'rotateDecisionSecret',
      'replayDecision',
      'rotateWebhookSecret',
      'pingWebhook',
      'resendDelivery',
      'makeVirtualChip',
      'startChipTransaction',
      'shipPlastic',
      'deliverPlastic',
      'returnPlastic',
    ],
  )
})

test('the private listener has a document of its own, with nothing of the public one in it', () => {
  const { paths }: Document = JSON.parse(documents['api/private.openapi.json'] ?? '')
  assert.ok(paths['/cards/search']?.post)
  assert.deepEqual(
    Object.keys(paths).filter((path) => document.paths[path]),
    [],
  )
})

test('errors.md tells of every problem', () => {
  for (const code of Object.keys(problemKinds)) {
    assert.match(documents['docs/reference/errors.md'] ?? '', new RegExp(`^## ${code}$`, 'm'))
  }
})
