import { STATUS_CODES } from 'node:http'
import type { SwaggerTransformObject } from '@fastify/swagger'
import { stringify } from 'safe-stable-stringify'
import type { ProblemCode } from '../../../domain/problem.ts'
import type { StringFormat } from '../server.ts'
import { EmptyBodySchema } from '../validation.ts'
import { answerHeaders, namedHeaders } from './answer-headers.ts'
import { namedProblemResponses, ProblemSchema, problemResponses } from './problem-responses.ts'

/** The parts of a document that the generator does not know. */
export interface Finishing {
  /** The schemas of bodies under their exported names: `CreateCardSchema` is `CreateCard`. */
  readonly sources: Readonly<Record<string, unknown>>
  /** An example body for operations with a body, by `operationId`. */
  readonly bodyExamples: Readonly<Record<string, object>>
  /** An example of the first answer of operations that return JSON, by `operationId`. */
  readonly answerExamples: Readonly<Record<string, unknown>>
  /** The formats that the schemas name. */
  readonly formats: Readonly<Record<string, StringFormat>>
}

/** The notes of a route's configuration for the generator. */
export interface RouteNotes {
  readonly problemCodes: readonly ProblemCode[]
  readonly isRepeatable: boolean
  readonly isBodyRequired: boolean
  readonly isDisclosure: boolean
  /** Whether the route needs no token. */
  readonly isOpen: boolean
  /** Whether a list can be filtered by a key of metadata. */
  readonly isMetadataFilter: boolean
}

/** The member of an operation that has its {@link RouteNotes} until the document is finished. */
export const notesMember = 'x-route-notes'

interface Content {
  readonly [mediaType: string]: { readonly schema?: unknown }
}

interface Parameter {
  readonly name: string
  readonly schema: Record<string, unknown>
}

/** An operation in the form of the generator. */
interface Operation {
  readonly operationId: string
  readonly requestBody?: { readonly content: Content }
  readonly parameters?: readonly Parameter[]
  readonly responses: Readonly<Record<string, { description: string; content?: Content }>>
  readonly [notesMember]?: RouteNotes
}

type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Any 1 to 255 visible ASCII characters, new for each new request. A repeat with the same ' +
    'key returns the first 2xx answer for 24 hours, and has no second effect.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
}

const metadataParameter = {
  name: 'metadata',
  in: 'query',
  required: false,
  style: 'deepObject',
  explode: true,
  description: 'One key with its value: `metadata[costCentre]=4711`.',
  schema: { type: 'object', additionalProperties: { type: 'string' } },
}

/** Replaces repeated parts with references, and adds the parts that the generator does not know. */
export const finishDocument = (finishing: Finishing): SwaggerTransformObject => {
  const referring = referrer(finishing)
  return (input) => {
    if (!('openapiObject' in input)) return input.swaggerObject
    const { openapiObject: document } = input
    // The generator's types are less precise than its documents.
    const paths = mapValues(document.paths as unknown as Paths, (item) =>
      mapValues(item, (operation) => finishOperation(operation, finishing, referring)),
    )
    const components = {
      schemas: Object.fromEntries(
        listBodySchemas(finishing).map(([name, schema]) => [name, referring.members(schema)]),
      ),
      responses: namedProblemResponses(paths),
      headers: namedHeaders,
      parameters: { IdempotencyKey: idempotencyKey },
      securitySchemes: document.components?.securitySchemes,
    }
    // The generator's types do not include references in place of schemas.
    return { ...document, paths, components } as unknown as typeof document
  }
}

function finishOperation(
  operation: Operation,
  { answerExamples, bodyExamples }: Finishing,
  { schema: referring }: Referring,
): object {
  const { [notesMember]: notes, parameters = [], requestBody, responses, ...rest } = operation
  if (!notes) return operation
  const finishContent = (content: Content, example: unknown): Record<string, object> =>
    mapValues(content, (media) => ({
      schema: referring(media.schema),
      ...(example !== undefined && { example }),
    }))
  const { operationId } = operation
  const [firstStatus] = Object.keys(responses)
  const allParameters = [
    ...parameters.map(({ name, schema, ...parameter }) => ({
      name,
      ...parameter,
      schema: name === 'limit' ? pageSize : referring(schema),
    })),
    ...(notes.isMetadataFilter ? [metadataParameter] : []),
    ...(notes.isRepeatable ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
  ]
  const answers = mapValues(responses, (response, status) => ({
    description: response.description.replace('Default Response', STATUS_CODES[status] ?? ''),
    headers: answerHeaders([
      ...(status === '201' ? ['Location'] : []),
      ...(parameters.some(({ name }) => name === 'cursor') ? ['Link'] : []),
      ...(notes.isRepeatable ? ['Idempotency-Replayed'] : []),
      ...(notes.isDisclosure ? ['Audit-Entry'] : []),
      ...(notes.isOpen ? [] : ['RateLimit', 'RateLimit-Policy']),
    ]),
    ...(response.content && {
      content: finishContent(
        response.content,
        status === firstStatus ? answerExamples[operationId] : undefined,
      ),
    }),
  }))
  return {
    ...rest,
    ...(allParameters.length > 0 && { parameters: allParameters }),
    ...(requestBody && {
      requestBody: {
        required: notes.isBodyRequired,
        content: finishContent(requestBody.content, bodyExamples[operationId]),
      },
    }),
    // The route's own description of a status takes precedence.
    responses: { ...problemResponses(notes.problemCodes), ...answers },
  }
}

/** Query parameters are strings, so the schema checks a string; the meaning is a number. */
const pageSize = { type: 'integer', minimum: 1, maximum: 100, default: 100 }

const mapValues = <Value, Mapped>(
  entries: Readonly<Record<string, Value>>,
  map: (value: Value, name: string) => Mapped,
): Record<string, Mapped> =>
  Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, map(value, name)]))

/** Parameters are described individually, and an answer without a body has no schema. */
const unnamed = /^(?:.*(?:Params|Query)|NoContent|Nothing)$/

/** Lists the schemas of bodies by name: `CreateCardSchema` is `CreateCard`. */
const listBodySchemas = ({ sources }: Pick<Finishing, 'sources'>) =>
  Object.entries<unknown>({ ...sources, EmptyBodySchema, ProblemSchema })
    .filter((entry): entry is [string, object] => entry[0].endsWith('Schema'))
    .map(([name, schema]) => [name.slice(0, -'Schema'.length), writeRecords(schema)] as const)
    .filter(([name]) => !unnamed.test(name))
    .sort(([one], [other]) => (one < other ? -1 : 1))

/** Writes records as the generator does: `additionalProperties` instead of patterns of names. */
function writeRecords<Schema>(schema: Schema): Schema {
  const write = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(write)
    const members = Object.entries(value).map(([member, content]) =>
      member === 'patternProperties'
        ? ['additionalProperties', write(Object.values(content)[0])]
        : [member, write(content)],
    )
    return Object.fromEntries(members)
  }
  return write(schema) as Schema
}

/** Returns an identity of a schema that copies share. */
const composeIdentity = (schema: unknown): string => stringify(schema) ?? ''

/** Writes schemas in the document: named ones by reference. */
interface Referring {
  schema(schema: unknown): unknown
  /** Writes the members of a schema that is described in place. */
  members(schema: object): object
}

function referrer(finishing: Finishing): Referring {
  const names = new Map(
    listBodySchemas(finishing).map(([name, schema]) => [composeIdentity(schema), name]),
  )
  const refer = (schema: unknown): unknown => {
    if (typeof schema !== 'object' || schema === null) return schema
    if (Array.isArray(schema)) return schema.map(refer)
    const name = names.get(composeIdentity(schema))
    return name === undefined ? finishMembers(schema) : { $ref: `#/components/schemas/${name}` }
  }
  const finishMembers = (schema: object): object => {
    const members = Object.entries(schema).map(([member, value]) => [member, refer(value)])
    const published = publishedFormat(finishing.formats, Object.fromEntries(members))
    const { enum: words, type } = published
    if (Array.isArray(words) && words.every(isTruthWord)) return publishTruth(published, words)
    // Code generators need one type: that of the listed values. `required` of the request states
    // whether a body is optional.
    if (Array.isArray(words) && type === undefined)
      return { type: findListedType(words), ...published }
    if (!Array.isArray(type)) return published
    const types = type.filter((each) => each !== 'null')
    return { ...published, type: types.length === 1 ? types[0] : types }
  }
  return { schema: refer, members: finishMembers }
}

/** Whether a value is the text of a boolean, as only queries have it. */
const isTruthWord = (word: unknown): boolean => word === 'true' || word === 'false'

/** Returns the schema of a boolean in a query, which is `true` or `false` in the address, too. */
function publishTruth(schema: Record<string, unknown>, words: readonly unknown[]): object {
  const { enum: _, ...rest } = schema
  const values = words.map((word) => word === 'true')
  return { type: 'boolean', ...rest, ...(values.length === 1 && { enum: values }) }
}

/** The type of an enumeration's values: `integer`, `number`, `boolean` or `string`. */
function findListedType(values: readonly unknown[]): string {
  if (values.every((value) => Number.isInteger(value))) return 'integer'
  const [type = 'string', ...others] = new Set(values.map((value) => typeof value))
  return others.length === 0 ? type : 'string'
}

/** The formats that JSON Schema can express. */
const equivalents: Readonly<Record<string, object>> = {
  id: { format: 'uuid' },
  'birth-date': { format: 'date' },
  'calendar-date': { format: 'date' },
  'year-month': { pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' },
  'country-code': { pattern: '^[A-Z]{3}$' },
}

/** Returns a schema whose format is specific to this service, with the rule in words. */
function publishedFormat(
  formats: Finishing['formats'],
  schema: Record<string, unknown>,
): Record<string, unknown> {
  const { format, ...rest } = schema
  const rule = formats[String(format)]
  if (!rule) return schema
  const description = `${rule.detail.replace(/^m/, 'M')}.`
  return { description, ...rest, ...equivalents[String(format)] }
}
