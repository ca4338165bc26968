import type {
  FastifyInstance,
  FastifyRequest,
  FastifySchema,
  FastifySchemaValidationError,
} from 'fastify'
import Type from 'typebox'
import { eventTypes } from '../../domain/event-type.ts'
import { textFault } from '../../domain/free-text.ts'
import { integerMax, type ProductId } from '../../domain/identifiers.ts'
import { toMembers } from '../../domain/members.ts'
import { findNearestName } from '../../domain/nearest-name.ts'
import { Problem, type ProblemError, validationFailed } from '../../domain/problem.ts'
import { bodyFaults } from './request.ts'

/** An object takes no member that its schema does not name. */
export const closed = { additionalProperties: false } as const

/** A body that may be left out. The types of the schema know of no object that may be null. */
export const optional = { ...closed, type: ['object', 'null'] as unknown as 'object' }

/** A body that may be left out, and has no members. */
export const EmptyBodySchema = Type.Object({}, optional)

/** A product's id: what passes this schema is one. */
export const productId = (options: {
  readonly description?: string
  readonly examples?: number[]
}) => Type.Unsafe<ProductId>(Type.Integer({ minimum: 1, maximum: integerMax, ...options }))

/** Sentences for the formats of our own schemas. */
export type FormatDetails = Readonly<Record<string, string>>

/** The failure for what a schema and the body rules of the route found. */
export const schemaProblem = (
  request: FastifyRequest,
  error: SchemaError,
  formats: FormatDetails,
): Problem => validationFailed(...schemaFaults(request, error, formats), ...bodyFaults(request))

interface SchemaError {
  readonly validation?: readonly FastifySchemaValidationError[] | undefined
  readonly validationContext?: string | undefined
}

/** A list of thousands of wrong entries would otherwise produce an answer of megabytes. */
const faultsMost = 100

/**
 * What a schema found wrong, at its JSON Pointer: all of it, up to a hundred. Values are never
 * repeated: they may be PINs.
 */
function schemaFaults(
  { body, query }: FastifyRequest,
  { validation, validationContext = 'body' }: SchemaError,
  formats: FormatDetails,
): ProblemError[] {
  const isBody = validationContext === 'body'
  const errors = new Map<string, ProblemError>()
  for (const fault of joinAlternatives(validation ?? [])) {
    const { instancePath, keyword, message = 'is not valid', params } = fault
    const name = keyword === 'required' ? params.missingProperty : params.additionalProperty
    const pointer = typeof name === 'string' ? memberPointer(instancePath, name) : instancePath
    const value = findValue(isBody ? body : query, pointer)
    const detail = describe[keyword]?.(params, formats, value) ?? message
    errors.set(`${pointer} ${detail}`, isBody ? { pointer, detail } : inQuery({ pointer, detail }))
    if (errors.size === faultsMost) break
  }
  return [...errors.values()]
}

/** A fault at a pointer into the query, with the parameter that it concerns. */
const inQuery = ({ pointer, detail }: ProblemError): ProblemError => ({
  pointer,
  parameter: pointer.split('/')[1] ?? '',
  detail,
})

/**
 * Keeps the faults of one branch of an alternative: that with the fewest, which the caller most
 * probably meant. The list of its allowed values includes those of the other branches.
 */
function joinAlternatives(
  faults: readonly FastifySchemaValidationError[],
): FastifySchemaValidationError[] {
  const branches = Map.groupBy(faults, findBranch)
  const fewest = new Map<string, string>()
  for (const [branch, { length }] of branches) {
    if (branch === null) continue
    const alternative = branch.replace(/\d+\/$/, '')
    const best = fewest.get(alternative)
    if (best === undefined || length < (branches.get(best)?.length ?? 0)) {
      fewest.set(alternative, branch)
    }
  }
  const kept = new Set<string | null>([null, ...fewest.values()])
  const enums = faults.filter(({ keyword }) => keyword === 'enum')
  const enumsAt = Map.groupBy(enums, ({ instancePath }) => instancePath)
  return faults
    .filter(({ keyword }) => keyword !== 'oneOf' && keyword !== 'anyOf' && keyword !== 'if')
    .filter((fault) => kept.has(findBranch(fault)))
    .map((fault) => {
      if (fault.keyword !== 'enum') return fault
      const all = enumsAt.get(fault.instancePath) ?? []
      const allowedValues = all.flatMap(({ params }) => params.allowedValues as unknown[])
      return { ...fault, params: { ...fault.params, allowedValues } }
    })
}

/** The schema path of the branch that a fault belongs to; null outside an alternative. */
const findBranch = ({ schemaPath }: FastifySchemaValidationError): string | null =>
  /^.*\/anyOf\/\d+\//.exec(schemaPath)?.[0] ?? null

/** The value at the pointer of a fault, which the validator has found there. */
const findValue = (holder: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce((value: unknown, name) => toMembers(value)[name], holder)

/** What the schema of a route found wrong that has its faults attached. No format is named. */
export const shapeFaults = (request: FastifyRequest): ProblemError[] =>
  request.validationError ? schemaFaults(request, request.validationError, {}) : []

/**
 * The JSON Pointer of a member. Its name is repeated only if it looks like one, for people put PANs
 * and PINs everywhere: else the pointer is that of the object.
 */
function memberPointer(holder: string, name: string): string {
  const isNameLike =
    /^[A-Za-z_][A-Za-z0-9_-]{0,39}$/.test(name) && !/(?:[0-9][^0-9]*){4}/.test(name)
  // A name like that has no character that JSON Pointer escapes.
  return isNameLike ? `${holder}/${name}` : holder
}

type Describe = (params: Record<string, unknown>, formats: FormatDetails, value: unknown) => string

const describe: Readonly<Record<string, Describe>> = {
  required: () => 'must be given',
  additionalProperties: () => 'is unknown; remove it or correct its name',
  type: ({ type }) => `must be ${/^[aeio]/.test(String(type)) ? 'an' : 'a'} ${type}`,
  enum: ({ allowedValues }, _, value) => listAllowed(allowedValues as unknown[], value),
  const: ({ allowedValue }) => `must be ${String(allowedValue)}`,
  minLength: ({ limit }) => `must have ${limit} characters or more`,
  maxLength: ({ limit }) => `must have ${limit} characters or fewer`,
  minimum: ({ limit }) => `must be ${limit} or more`,
  maximum: ({ limit }) => `must be ${limit} or less`,
  pattern: ({ pattern }) => sentenceByPattern.get(String(pattern)) ?? `must match ${pattern}`,
  format: ({ format }, formats) => formats[String(format)] ?? `must have the form ${format}`,
  minProperties: () => 'must be given',
  minItems: ({ limit }) => `must have ${limit} ${limit === 1 ? 'entry' : 'entries'} or more`,
  maxItems: ({ limit }) => `must have ${limit} ${limit === 1 ? 'entry' : 'entries'} or fewer`,
  uniqueItems: () => 'must not have duplicate entries',
}

/** A longer text is not compared: that costs time, and it is no misspelt name. */
const comparedLengthMax = 40

/** The value itself is never repeated: it may be a PIN. */
function listAllowed(names: readonly unknown[], value: unknown): string {
  // A mark such as * is one mistake away from any character.
  const texts = names.filter((name) => typeof name === 'string').filter(({ length }) => length > 1)
  const isShort = typeof value === 'string' && value.length <= comparedLengthMax
  const nearest = isShort ? findNearestName(value, texts) : null
  const list = `must be one of ${names.join(', ')}`
  return nearest === null ? list : `${list}; did you mean ${nearest}?`
}

const eventTypeNames = eventTypes.map((type) => type.replace('.', '\\.')).join('|')

/** What strings of digits and the like look like on the wire, as JSON Schema says it. */
export const stringPatterns = {
  pin: '^[0-9]{4,12}$',
  pan: '^[0-9]{12,19}$',
  publicToken: '^[1-9][0-9]{9}$',
  panLastFour: '^[0-9]{4}$',
  cvv: '^[0-9]{3,4}$',
  hexadecimal: '^[0-9A-Fa-f]*$',
  keyName: '^[a-z0-9-]+$',
  clientId: '^[\\x21-\\x7e]{1,64}$',
  mobile: '^\\+?[0-9 ().-]+$',
  email: '^[^\\s@]+@[^\\s@]+$',
  currencyCode: '^[A-Z]{3}$',
  pageLimit: '^([1-9][0-9]?|100)$',
  cursor: '^[A-Za-z0-9_-]+$',
  eventTypes: `^(${eventTypeNames})(,(${eventTypeNames}))*$`,
  coordinate: '^[A-Za-z0-9_-]{43}$',
  nonce: '^[A-Za-z0-9_-]{16,64}$',
} as const

/** The same for people: a regular expression is no explanation. */
const sentences: Readonly<Record<keyof typeof stringPatterns, string>> = {
  pin: 'must be 4 to 12 digits',
  pan: 'must be 12 to 19 digits',
  publicToken: 'must be ten digits, the first not 0',
  panLastFour: 'must be 4 digits',
  cvv: 'must be 3 or 4 digits',
  hexadecimal: 'must be hexadecimal digits',
  keyName: 'must be small letters, digits and dashes',
  clientId: 'must be 1 to 64 visible ASCII characters',
  mobile: 'must be a telephone number',
  email: 'must be an e-mail address',
  currencyCode: 'must be three capital letters',
  pageLimit: 'must be a whole number from 1 to 100',
  cursor: 'must come from a Link header',
  eventTypes: `must be types of events, separated by commas: ${eventTypes.join(', ')}`,
  coordinate:
    'must be 32 bytes in base64url: 43 characters, without padding, line breaks or spaces',
  nonce: 'must be 16 to 64 base64url characters, without padding, line breaks or spaces',
}

const sentenceByPattern = new Map<string, string>(
  Object.entries(stringPatterns).map(([name, pattern]) => [
    pattern,
    sentences[name as keyof typeof stringPatterns],
  ]),
)

const nothing = { type: 'object', properties: {}, additionalProperties: false } as const
// Null stands for a body that was not sent.
const noBody = { ...nothing, type: ['object', 'null'] } as const

/**
 * What a route does not name is refused, not ignored: where its schema names no query it takes
 * none, and where it names no body only an empty one. A route without a schema of its answer speaks
 * in the terms of another standard (the token endpoint, the pages of the reference), and reads for
 * itself.
 */
export function refuseUnnamed(app: FastifyInstance): void {
  // Of a DELETE as of a GET no body is read: it has no meaning there (RFC 9110 section 9.3.5).
  app.addHttpMethod('DELETE', bodyless)
  app.addHook('onRoute', (route) => {
    const { method, schema } = route
    if (!isOurs(route)) return
    const takesBody = [method].flat().some((each) => /^(?:POST|PUT|PATCH)$/.test(each))
    route.schema = {
      querystring: nothing,
      ...(takesBody && { body: noBody }),
      ...schema,
    }
  })
  app.addHook('preParsing', async ({ routeOptions, url }) => {
    if (!isOurs(routeOptions) || !url.includes('%')) return
    try {
      // Text that is no percent-encoded UTF-8 would be taken as it stands, and mean another thing.
      decodeURIComponent(url.slice(url.indexOf('?') + 1))
    } catch {
      throw new Problem('malformed_request', { detail: 'The query is not percent-encoded UTF-8.' })
    }
  })
  app.addHook('preHandler', async (request) => {
    // Where faults are attached the handler refuses them all, these too.
    if (!isOurs(request.routeOptions) || request.validationError) return
    const { ciphertexts = [] } = request.routeOptions.config
    const members = Object.entries(toMembers(request.body))
    const body = Object.fromEntries(members.filter(([name]) => !ciphertexts.includes(name)))
    const faults = [...textFaults(request.query, '').map(inQuery), ...textFaults(body, '')]
    if (faults.length > 0) throw validationFailed(...faults)
  })
}

const isOurs = ({ schema }: { schema?: FastifySchema | undefined }): boolean =>
  schema?.response !== undefined

// The types of the framework do not know that a method that is there can be changed.
const bodyless = { hasBody: false, overrideExisting: true }

const detail = 'must have no control characters and no unpaired surrogates'

/**
 * Control characters and unpaired surrogates in every text of a value, also where no schema refuses
 * them: the database cannot store some of them, and no reader sees them.
 */
function textFaults(value: unknown, pointer: string): ProblemError[] {
  if (typeof value === 'string') return textFault(value) === null ? [] : [{ pointer, detail }]
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) {
    return value.flatMap((member, index) => textFaults(member, `${pointer}/${index}`))
  }
  return Object.entries(value).flatMap(([name, member]) => [
    ...(textFault(name) === null ? [] : [{ pointer, detail }]),
    ...textFaults(member, memberPointer(pointer, name)),
  ])
}
