import { STATUS_CODES } from 'node:http'
import type { SwaggerTransformObject } from '@fastify/swagger'
import { stringify } from 'safe-stable-stringify'
import type { ProblemCode } from '../../../domain/problem.ts'
import type { StringFormat } from '../server.ts'
import { EmptyBodySchema } from '../validation.ts'
import { answerHeaders, namedHeaders } from './answer-headers.ts'
import { namedProblemResponses, ProblemSchema, problemResponses } from './problem-responses.ts'

/** What a document is finished with. */
export interface Finishing {
  /** The schemas of bodies, as they are exported: `CreateCardSchema` is `CreateCard`. */
  readonly sources: Readonly<Record<string, unknown>>
  /** A body for operations that take one, by `operationId`. */
  readonly bodyExamples: Readonly<Record<string, object>>
  /** The first answer of operations that return JSON, by `operationId`. */
  readonly answerExamples: Readonly<Record<string, unknown>>
  /** Those that the schemas name. */
  readonly formats: Readonly<Record<string, StringFormat>>
}

/** What follows from a route's configuration, on its way through the generator. */
export interface RouteNotes {
  readonly problemCodes: readonly ProblemCode[]
  readonly isRepeatable: boolean
  readonly isBodyRequired: boolean
  readonly isDisclosure: boolean
  /** Whether it needs no token. */
  readonly isOpen: boolean
}

/** The member of an operation that holds its {@link RouteNotes} until the document is finished. */
export const notesMember = 'x-route-notes'

interface Content {
  readonly [mediaType: string]: { readonly schema?: unknown }
}

interface Parameter {
  readonly name: string
  readonly schema: Record<string, unknown>
}

/** An operation as the generator leaves it. */
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

/** Names what is the same in many places, and adds what the generator does not know. */
export const finishDocument = (finishing: Finishing): SwaggerTransformObject => {
  const referring = referrer(finishing)
  return (input) => {
    if (!('openapiObject' in input)) return input.swaggerObject
    const { openapiObject: document } = input
    // The generator's types say less of a document than it makes.
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
    // References stand where the types of the generator know schemas only.
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
    // A status that the route itself answers with is described as its own.
    responses: { ...problemResponses(notes.problemCodes), ...answers },
  }
}

/** A query is text, so its schema checks text: what it means is a number. */
const pageSize = { type: 'integer', minimum: 1, maximum: 100, default: 100 }

const mapValues = <Value, Mapped>(
  entries: Readonly<Record<string, Value>>,
  map: (value: Value, name: string) => Mapped,
): Record<string, Mapped> =>
  Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, map(value, name)]))

/** Parameters are described one by one, and an answer without a body has no schema. */
const unnamed = /^(?:.*(?:Params|Query)|NoContent|Nothing)$/

/** The schemas of bodies by their names: `CreateCardSchema` is `CreateCard`. */
const listBodySchemas = ({ sources }: Pick<Finishing, 'sources'>) =>
  Object.entries<unknown>({ ...sources, EmptyBodySchema, ProblemSchema })
    .filter((entry): entry is [string, object] => entry[0].endsWith('Schema'))
    .map(([name, schema]) => [name.slice(0, -'Schema'.length), writeRecords(schema)] as const)
    .filter(([name]) => !unnamed.test(name))
    .sort(([one], [other]) => (one < other ? -1 : 1))

/** A record as the generator writes it: by `additionalProperties`, not by patterns of names. */
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

/** What a schema is known by, wherever it was copied to. */
const composeIdentity = (schema: unknown): string => stringify(schema) ?? ''

/** Puts schemas as they stand in the document: by reference where they have a name. */
interface Referring {
  schema(schema: unknown): unknown
  /** Of one that is described here, the members. */
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
    // Generators of code want one type: that of the listed values, and whether a body may be left
    // out is said by `required` of the request.
    if (Array.isArray(words) && type === undefined)
      return { type: findListedType(words), ...published }
    if (!Array.isArray(type)) return published
    const types = type.filter((each) => each !== 'null')
    return { ...published, type: types.length === 1 ? types[0] : types }
  }
  return { schema: refer, members: finishMembers }
}

/** The type of an enumeration's values: `integer`, `number`, `boolean` or `string`. */
function findListedType(values: readonly unknown[]): string {
  if (values.every((value) => Number.isInteger(value))) return 'integer'
  const [type = 'string', ...others] = new Set(values.map((value) => typeof value))
  return others.length === 0 ? type : 'string'
}

/** What JSON Schema itself can say of some of our formats. */
const equivalents: Readonly<Record<string, object>> = {
  id: { format: 'uuid' },
  'birth-date': { format: 'date' },
  'year-month': { pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' },
  'country-code': { pattern: '^[A-Z]{3}$' },
}

/** A schema whose format only this service knows, with the rule of that format in words. */
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
