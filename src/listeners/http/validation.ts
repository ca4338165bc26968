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

/** An object accepts only the members that its schema names. */
export const closed = { additionalProperties: false } as const

/** An optional body. The types of the schema do not support an object or null. */
export const optional = { ...closed, type: ['object', 'null'] as unknown as 'object' }

/** An optional body without members. */
export const EmptyBodySchema = Type.Object({}, optional)

/** The id of a product: values that match this schema are valid ids. */
export const productId = (options: {
  readonly description?: string
  readonly examples?: number[]
}) => Type.Unsafe<ProductId>(Type.Integer({ minimum: 1, maximum: integerMax, ...options }))

/** The sentences for the formats of this service's schemas. */
export type FormatDetails = Readonly<Record<string, string>>

/** Returns the failure with the faults of the schema and of the route's body rules. */
export const schemaProblem = (
  request: FastifyRequest,
  error: SchemaError,
  formats: FormatDetails,
): Problem => validationFailed(...schemaFaults(request, error, formats), ...bodyFaults(request))

interface SchemaError {
  readonly validation?: readonly FastifySchemaValidationError[] | undefined
  readonly validationContext?: string | undefined
}

/** A list with thousands of invalid entries would otherwise produce an answer of megabytes. */
const faultsMost = 50

/**
 * Lists up to fifty faults of the schema with their JSON Pointers. Values are never repeated:
 * they may be PINs.
 */
function schemaFaults(
  { body, query }: FastifyRequest,
  { validation, validationContext = 'body' }: SchemaError,
  formats: FormatDetails,
): ProblemError[] {
  const isBody = validationContext === 'body'
  const errors = new Map<string, ProblemError>()
  for (const fault of joinAlternatives(validation ?? [])) {
    const { instancePath, keyword, params } = fault
    const name = keyword === 'required' ? params.missingProperty : params.additionalProperty
    const pointer = typeof name === 'string' ? memberPointer(instancePath, name) : instancePath
    const value = findValue(isBody ? body : query, pointer)
    const isTwice = !isBody && Array.isArray(value) && keyword !== 'additionalProperties'
    const detail = isTwice ? 'must be given once' : describeFault(fault, formats, value)
    const shown = { pointer: cutPointer(pointer), detail }
    errors.set(`${shown.pointer} ${detail}`, isBody ? shown : inQuery(shown))
    if (errors.size === faultsMost) break
  }
  return [...errors.values()]
}

const describeFault = (
  { keyword, message = 'is not valid', params }: FastifySchemaValidationError,
  formats: FormatDetails,
  value: unknown,
): string => describe[keyword]?.(params, formats, value) ?? message

/** Returns a fault of the query with its parameter. */
const inQuery = ({ pointer, detail }: ProblemError): ProblemError => ({
  pointer,
  parameter: pointer.split('/')[1] ?? '',
  detail,
})

/** The keywords whose faults only summarize others. */
const summaries = new Set(['oneOf', 'anyOf', 'if', 'propertyNames'])

/**
 * Keeps the faults of one branch of an alternative: the branch with the fewest, which the caller
 * most probably meant. The list of its allowed values includes those of the other branches.
 */
function joinAlternatives(
  faults: readonly FastifySchemaValidationError[],
): FastifySchemaValidationError[] {
  const branches = Map.groupBy(faults, findBranch)
  const fewest = new Map<string, string>()
  for (const [branch, those] of branches) {
    // Null has no fault, so a faulty value is meant for another branch.
    const isNull = those.some(({ params }) => params.type === 'null')
    if (branch === null || isNull) continue
    const { length } = those
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
    .filter(({ keyword }) => !summaries.has(keyword))
    .filter((fault) => kept.has(findBranch(fault)))
    .map((fault) => {
      if (fault.keyword !== 'enum') return fault
      const all = enumsAt.get(fault.instancePath) ?? []
      const allowedValues = all.flatMap(({ params }) => params.allowedValues as unknown[])
      return { ...fault, params: { ...fault.params, allowedValues } }
    })
}

/** Returns the schema path of a fault's branch; null outside an alternative. */
const findBranch = ({ schemaPath }: FastifySchemaValidationError): string | null =>
  /^.*\/anyOf\/\d+\//.exec(schemaPath)?.[0] ?? null

/** Returns the value at the pointer of a fault. */
const findValue = (holder: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce((value: unknown, name) => toMembers(value)[name], holder)

/** Lists the faults of a route's schema if the route attaches them. No format is named. */
export const shapeFaults = (request: FastifyRequest): ProblemError[] =>
  request.validationError ? schemaFaults(request, request.validationError, {}) : []

/**
 * Returns the JSON Pointer of a member. Its name is repeated only if it looks like a name, because
 * callers put PANs and PINs everywhere; otherwise the pointer is that of the object.
 */
const memberPointer = (holder: string, name: string): string =>
  // Such a name has no characters that JSON Pointer escapes.
  isNameLike(name) ? `${holder}/${name}` : holder

const isNameLike = (name: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_-]{0,39}(?:\[[A-Za-z0-9_-]{0,40}\])?$/.test(name) &&
  !/(?:[0-9][^0-9]*){4}/.test(name)

/**
 * Cuts a JSON Pointer before a name that does not look like one: callers choose the names in a map.
 */
function cutPointer(pointer: string): string {
  const names = pointer.split('/').slice(1)
  const hidden = names.findIndex((name) => !isNameLike(name) && !/^[0-9]{1,3}$/.test(name))
  return ['', ...(hidden === -1 ? names : names.slice(0, hidden))].join('/')
}

type Describe = (params: Record<string, unknown>, formats: FormatDetails, value: unknown) => string

const describe: Readonly<Record<string, Describe>> = {
  required: () => 'must be given',
  additionalProperties: () => 'is unknown; remove it or correct its name',
  type: ({ type }, _, value) => describeType([type].flat().map(String), value),
  enum: ({ allowedValues }, _, value) => listAllowed(allowedValues as unknown[], value),
  const: ({ allowedValue }) => `must be ${String(allowedValue)}`,
  minLength: ({ limit }) =>
    limit === 1 ? 'must not be empty' : `must have ${limit} characters or more`,
  maxLength: ({ limit }) => `must have ${limit} characters or fewer`,
  minimum: ({ limit }) => `must be ${limit} or more`,
  maximum: ({ limit }) => `must be ${limit} or less`,
  pattern: ({ pattern }) => sentenceByPattern.get(String(pattern)) ?? `must match ${pattern}`,
  format: ({ format }, formats) => formats[String(format)] ?? `must have the form ${format}`,
  minProperties: ({ limit }) =>
    limit === 1 ? 'must have at least one member' : `must have ${limit} members or more`,
  maxProperties: ({ limit }) => `must have ${limit} members or fewer`,
  minItems: ({ limit }) => `must have ${limit} ${limit === 1 ? 'entry' : 'entries'} or more`,
  maxItems: ({ limit }) => `must have ${limit} ${limit === 1 ? 'entry' : 'entries'} or fewer`,
  uniqueItems: () => 'must not have duplicate entries',
}

const typeNames: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  object: 'an object',
  string: 'a string',
}

/** An optional object may also be null, which needs no mention. */
function describeType(types: readonly string[], value: unknown): string {
  const [type = 'null'] = types.filter((each) => each !== 'null')
  const isQuoted = typeof value === 'string' && (type === 'integer' || type === 'number')
  return `must be ${typeNames[type] ?? type}${isQuoted ? ', not a string' : ''}`
}

/** Longer texts are not compared: that is expensive, and they are not misspelt names. */
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

/** The patterns of strings on the wire, in JSON Schema. */
export const stringPatterns = {
  pin: '^[0-9]{4,12}$',
  pan: '^[0-9]{12,19}$',
  publicToken: '^[1-9][0-9]{9}$',
  panLastFour: '^[0-9]{4}$',
  panSequenceNumber: '^[0-9]{2}$',
  cvv: '^[0-9]{3,4}$',
  track2: '^[0-9]{12,19}[=D][0-9]{7,}F?$',
  hexadecimal: '^[0-9A-Fa-f]*$',
  hexadecimalBytes: '^([0-9A-Fa-f]{2})*$',
  chipTag: '^[13579BD]F[0-7][0-9A-F]$',
  printable: '^[!-~]([ -~]*[!-~])?$',
  visible: '\\S',
  categoryCode: '^[0-9]{4}$',
  networkTransactionId: '^[A-Za-z0-9]{1,15}$',
  keyName: '^[a-z0-9-]+$',
  clientId: '^[\\x21-\\x7e]{1,64}$',
  mobile: '^\\+?[0-9 ().-]+$',
  email: '^[^\\s@]+@[^\\s@]+$',
  currencyCode: '^[A-Z]{3}$',
  pageLimit: '^([1-9][0-9]?|100)$',
  versionNumber: '^[1-9][0-9]{0,8}$',
  cursor: '^[A-Za-z0-9_-]+$',
  eventTypes: `^(${eventTypeNames})(,(${eventTypeNames}))*$`,
  coordinate: '^[A-Za-z0-9_-]{43}$',
  nonce: '^[A-Za-z0-9_-]{16,64}$',
} as const

/** The same patterns in words: a regular expression does not explain a fault. */
const sentences: Readonly<Record<keyof typeof stringPatterns, string>> = {
  pin: 'must be 4 to 12 digits',
  pan: 'must be 12 to 19 digits',
  publicToken: 'must be ten digits, the first not 0',
  panLastFour: 'must be 4 digits',
  panSequenceNumber: 'must be 2 digits',
  cvv: 'must be 3 or 4 digits',
  track2: 'must be a card number, a separator, an expiry and a service code',
  hexadecimal: 'must be hexadecimal digits',
  hexadecimalBytes: 'must be pairs of hexadecimal digits',
  chipTag:
    'must be a tag of two bytes that names a data object of the chip, such as 9F58, in capitals',
  printable: 'must be printable ASCII characters, without a space at an end',
  visible: 'must not be blank',
  categoryCode: 'must be a text of 4 digits',
  networkTransactionId: 'must be 1 to 15 letters and digits',
  keyName: 'must be small letters, digits and dashes',
  clientId: 'must be 1 to 64 visible ASCII characters',
  mobile: 'must be a telephone number',
  email: 'must be an e-mail address',
  currencyCode: 'must be three capital letters',
  pageLimit: 'must be a whole number from 1 to 100',
  versionNumber: 'must be a whole number from 1',
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
// Null is a body that was not sent.
const noBody = { ...nothing, type: ['object', 'null'] } as const

/**
 * Rejects members that a route does not name: without a query schema it accepts no query, and
 * without a body schema only an empty body. A route without a response schema follows another
 * standard (the token endpoint, the reference pages) and checks its own input.
 */
export function refuseUnnamed(app: FastifyInstance): void {
  // The body of a DELETE, as of a GET, has no meaning and is not read (RFC 9110 section 9.3.5).
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
      // A text that is not percent-encoded UTF-8 would be taken literally, with another meaning.
      decodeURIComponent(url.slice(url.indexOf('?') + 1))
    } catch {
      throw new Problem('malformed_request', { detail: 'The query is not percent-encoded UTF-8.' })
    }
  })
  app.addHook('preHandler', async (request) => {
    // If a route attaches the faults, its handler reports these, too.
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

// The framework's types do not allow changing an existing method.
const bodyless = { hasBody: false, overrideExisting: true }

const detail = 'must have no control characters and no unpaired surrogates'

/**
 * Finds control characters and unpaired surrogates in every text of a value, even if no schema
 * forbids them: the database cannot store some of them, and readers cannot see them.
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
