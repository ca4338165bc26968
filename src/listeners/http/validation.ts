import type {
  FastifyInstance,
  FastifyRequest,
  FastifySchema,
  FastifySchemaValidationError,
} from 'fastify'
import { textFault } from '../../domain/free-text.ts'
import { Problem, type ProblemError, validationFailed } from '../../domain/problem.ts'

/** Sentences for the formats of our own schemas. */
export type FormatDetails = Readonly<Record<string, string>>

/** All that a schema found wrong, and what was found wrong beside. */
export const schemaProblem = (
  faults: readonly FastifySchemaValidationError[],
  formats: FormatDetails,
  further: readonly ProblemError[],
): Problem => validationFailed(...schemaFaults(faults, formats), ...further)

/** More than anybody reads. A list of thousands of wrong entries would be answered by megabytes. */
const faultsMost = 100

/**
 * What a schema found wrong, at its JSON Pointer: all of it, up to a hundred. Values are never repeated: they
 * may be PINs.
 */
function schemaFaults(
  faults: readonly FastifySchemaValidationError[],
  formats: FormatDetails,
): ProblemError[] {
  const errors = new Map<string, ProblemError>()
  for (const fault of faults) {
    if (fault.keyword === 'oneOf' || fault.keyword === 'anyOf' || fault.keyword === 'if') continue
    const error = { pointer: pointerOf(fault), detail: detailOf(fault, formats) }
    errors.set(`${error.pointer} ${error.detail}`, error)
    if (errors.size === faultsMost) break
  }
  return [...errors.values()]
}

/** What the schema of a route found wrong that has its faults attached. No format is told by name. */
export const shapeFaults = ({ validationError }: FastifyRequest): ProblemError[] =>
  schemaFaults(validationError?.validation ?? [], {})

function pointerOf({ instancePath, keyword, params }: FastifySchemaValidationError): string {
  const name = keyword === 'required' ? params.missingProperty : params.additionalProperty
  return typeof name === 'string' ? memberPointer(instancePath, name) : instancePath
}

/** The JSON Pointer of a member, or that of what holds it where its name is not to be repeated. */
export const memberPointer = (holder: string, name: string): string =>
  isNameLike(name) ? `${holder}/${escapePointer(name)}` : holder

/** A member's name is repeated only if it looks like one: people put PANs and PINs everywhere. */
const isNameLike = (name: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_-]{0,39}$/.test(name) && !/(?:[0-9][^0-9]*){4}/.test(name)

const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

type Describe = (params: Record<string, unknown>, formats: FormatDetails) => string

const describe: Readonly<Record<string, Describe>> = {
  required: () => 'must be given',
  additionalProperties: () => 'is not a member that can be given',
  type: ({ type }) => `must be ${article(String(type))}`,
  enum: ({ allowedValues }) => `must be one of ${(allowedValues as unknown[]).join(', ')}`,
  const: ({ allowedValue }) => `must be ${String(allowedValue)}`,
  minLength: ({ limit }) => `must have ${limit} characters or more`,
  maxLength: ({ limit }) => `must have ${limit} characters or fewer`,
  minimum: ({ limit }) => `must be ${limit} or more`,
  maximum: ({ limit }) => `must be ${limit} or less`,
  pattern: ({ pattern }) => patternSentence(String(pattern)),
  format: ({ format }, formats) => formats[String(format)] ?? `must be of the form ${format}`,
  minProperties: () => 'must be given',
}

const detailOf = (
  { keyword, message, params }: FastifySchemaValidationError,
  formats: FormatDetails,
): string => describe[keyword]?.(params, formats) ?? message ?? 'is not valid'

const article = (type: string): string => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`)

/** What strings of digits and the like look like on the wire, as JSON Schema says it. */
export const stringPatterns = {
  pin: '^[0-9]{4,12}$',
  pan: '^[0-9]{12,19}$',
  cvv: '^[0-9]{3,4}$',
  hexadecimal: '^[0-9A-Fa-f]*$',
  keyName: '^[a-z0-9-]+$',
  clientId: '^[\\x21-\\x7e]{1,64}$',
  mobile: '^\\+?[0-9 ().-]+$',
  email: '^[^\\s@]+@[^\\s@]+$',
  currencyCode: '^[A-Z]{3}$',
  pageLimit: '^([1-9][0-9]?|100)$',
  cursor: '^[A-Za-z0-9_-]+$',
  coordinate: '^[A-Za-z0-9_-]{43}$',
  nonce: '^[A-Za-z0-9_-]{16,64}$',
} as const

/** The same for people: a regular expression is no explanation. */
const sentences: Readonly<Record<keyof typeof stringPatterns, string>> = {
  pin: 'must be 4 to 12 digits',
  pan: 'must be 12 to 19 digits',
  cvv: 'must be 3 or 4 digits',
  hexadecimal: 'must be hexadecimal digits',
  keyName: 'must be small letters, digits and dashes',
  clientId: 'must be 1 to 64 visible ASCII characters',
  mobile: 'must be a telephone number',
  email: 'must be an e-mail address',
  currencyCode: 'must be three capital letters',
  pageLimit: 'must be a whole number from 1 to 100',
  cursor: 'must come from a Link header',
  coordinate: 'must be 32 bytes in base64url',
  nonce: 'must be 16 to 64 base64url characters',
}

const sentenceByPattern = new Map<string, string>(
  Object.entries(stringPatterns).map(([name, pattern]) => [
    pattern,
    sentences[name as keyof typeof stringPatterns],
  ]),
)

/** What a string that does not match a pattern should have been. */
export const patternSentence = (pattern: string): string =>
  sentenceByPattern.get(pattern) ?? `must match ${pattern}`

const nothing = { type: 'object', properties: {}, additionalProperties: false } as const
// Null stands for a body that was not sent.
const noBody = { ...nothing, type: ['object', 'null'] } as const

/**
 * What a route does not name is refused, not ignored: where its schema names no query it takes none, and
 * where it names no body only an empty one. A route without a schema of its answer speaks in the terms
 * of another standard (the token endpoint, the pages of the reference), and reads for itself.
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
    if (isOurs(routeOptions)) refuseMalformedQuery(url)
  })
  app.addHook('preHandler', async (request) => {
    if (isOurs(request.routeOptions)) refuseUnprintable(request)
  })
}

const isOurs = ({ schema }: { schema?: FastifySchema | undefined }): boolean =>
  schema?.response !== undefined

// The types of the framework do not know that a method that is there can be changed.
const bodyless = { hasBody: false, overrideExisting: true }

/** Text that is no percent-encoded UTF-8 would be taken as it stands, and mean another thing. */
function refuseMalformedQuery(url: string): void {
  try {
    decodeURIComponent(url.slice(url.indexOf('?') + 1))
  } catch {
    throw new Problem('malformed_request', { detail: 'The query is not percent-encoded UTF-8.' })
  }
}

/**
 * Refuses control characters and unpaired surrogates in every text of a request, also where no schema
 * says so: the database cannot keep some of them, and no reader sees them.
 */
function refuseUnprintable(request: FastifyRequest): void {
  // Where faults are attached the handler refuses them all, these too.
  if (request.validationError) return
  const { ciphertexts = [] } = request.routeOptions.config
  const members = Object.entries(Object(request.body))
  const body = Object.fromEntries(members.filter(([name]) => !ciphertexts.includes(name)))
  const faults = [...textFaults(request.query, ''), ...textFaults(body, '')]
  if (faults.length > 0) throw validationFailed(...faults)
}

const detail = 'must have no control characters and no unpaired surrogates'

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
