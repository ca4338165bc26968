import { STATUS_CODES } from 'node:http'
import type { SwaggerTransformObject } from '@fastify/swagger'
import { answerHeaders, namedHeaders } from './answer-headers.ts'
import { notesMember, type RouteNotes } from './describe-route.ts'
import { bodyExamples } from './examples.ts'
import { namedSchemas, referring } from './named-schemas.ts'
import { namedProblemResponses, problemResponses } from './problem-responses.ts'

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
    'Any 1 to 255 visible ASCII characters, new for each new request. The same key with the same ' +
    'request gets the first 2xx answer again for 24 hours, and nothing is done twice.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
}

/** Names what is the same in many places, and adds what the generator does not know. */
export const finishDocument: SwaggerTransformObject = (input) => {
  if (!('openapiObject' in input)) return input.swaggerObject
  const { openapiObject: document } = input
  const paths = mapValues(document.paths as unknown as Paths, (item) =>
    mapValues(item, finishOperation),
  )
  const components = {
    schemas: namedSchemas(),
    responses: namedProblemResponses(paths),
    headers: namedHeaders,
    parameters: { IdempotencyKey: idempotencyKey },
    securitySchemes: document.components?.securitySchemes,
  }
  return { ...document, paths, components } as unknown as typeof document
}

function finishOperation(operation: Operation): object {
  const { [notesMember]: notes, parameters, requestBody, responses, ...rest } = operation
  if (!notes) return operation
  return {
    ...rest,
    ...parametersOf(parameters ?? [], notes),
    ...(requestBody && { requestBody: bodyOf(operation, requestBody.content, notes) }),
    responses: {
      ...mapValues(responses, (response, status) => ({
        description: response.description.replace('Default Response', STATUS_CODES[status] ?? ''),
        headers: answerHeaders(headerNames(status, operation, notes)),
        ...(response.content && { content: contentOf(response.content) }),
      })),
      ...problemResponses(notes.problemCodes),
    },
  }
}

function headerNames(status: string, { parameters = [] }: Operation, notes: RouteNotes): string[] {
  return [
    ...(status === '201' ? ['Location'] : []),
    ...(parameters.some(({ name }) => name === 'cursor') ? ['Link'] : []),
    ...(notes.isRepeatable ? ['Idempotency-Replayed'] : []),
    'RateLimit',
    'RateLimit-Policy',
  ]
}

function parametersOf(parameters: readonly Parameter[], { isRepeatable }: RouteNotes): object {
  const told = [
    ...parameters.map(parameterOf),
    ...(isRepeatable ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
  ]
  return told.length === 0 ? {} : { parameters: told }
}

/** A query is text, so its schema checks text: what it means is a number. */
const pageSize = { type: 'integer', minimum: 1, maximum: 100, default: 100 }

const parameterOf = ({ name, schema, ...rest }: Parameter): object => ({
  name,
  ...rest,
  schema: name === 'limit' ? pageSize : referring(schema),
})

const bodyOf = ({ operationId }: Operation, content: Content, notes: RouteNotes): object => ({
  required: notes.isBodyRequired,
  content: mapValues(contentOf(content), (media) => ({
    ...media,
    ...(bodyExamples[operationId] && { example: bodyExamples[operationId] }),
  })),
})

const contentOf = (content: Content): Record<string, object> =>
  mapValues(content, (media) => ({ schema: referring(media.schema) }))

const mapValues = <Value, Mapped>(
  entries: Readonly<Record<string, Value>>,
  map: (value: Value, name: string) => Mapped,
): Record<string, Mapped> =>
  Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, map(value, name)]))
