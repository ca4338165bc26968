import type {
  FastifyInstance,
  FastifyRequest,
  FastifySchema,
  FastifySchemaValidationError,
} from 'fastify'
import Type from 'typebox'
import { textFault } from '../../domain/free-text.ts'
import { integerMax, type ProductId } from '../../domain/identifiers.ts'
import { toMembers } from '../../domain/members.ts'
import { Problem, type ProblemError, validationFailed } from '../../domain/problem.ts'

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

/** All that a schema found wrong, and what was found wrong beside. */
export const schemaProblem = (
  faults: readonly FastifySchemaValidationError[],
  formats: FormatDetails,
  further: readonly ProblemError[],
): Problem => validationFailed(...schemaFaults(faults, formats), ...further)

/** More than anybody reads. A list of thousands of wrong entries would be answered by megabytes. */
const faultsMost = 100

/**
 * What a schema found wrong, at its JSON Pointer: all of it, up to a hundred. Values are never
 * repeated: they may be PINs.
 */
function schemaFaults(
  faults: readonly FastifySchemaValidationError[],
  formats: FormatDetails,
): ProblemError[] {
  const errors = new Map<string, ProblemError>()
  for (const fault of faults) {
    const { instancePath, keyword, message = 'is not valid', params } = fault
    if (keyword === 'oneOf' || keyword === 'anyOf' || keyword === 'if') continue
    const name = keyword === 'required' ? params.missingProperty : params.additionalProperty
    const pointer = typeof name === 'string' ? memberPointer(instancePath, name) : instancePath
    const detail = describe[keyword]?.(params, formats) ?? message
    errors.set(`${pointer} ${detail}`, { pointer, detail })
    if (errors.size === faultsMost) break
  }
  return [...errors.values()]
}

/** What the schema of a route found wrong that has its faults attached. No format is named. */
export const shapeFaults = ({ validationError }: FastifyRequest): ProblemError[] =>
  schemaFaults(validationError?.validation ?? [], {})

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

type Describe = (params: Record<string, unknown>, formats: FormatDetails) => string

const describe: Readonly<Record<string, Describe>> = {
  required: () => 'must be given',
  additionalProperties: () => 'is not a member that can be given',
  type: ({ type }) => `must be ${/^[aeio]/.test(String(type)) ? 'an' : 'a'} ${type}`,
  enum: ({ allowedValues }) => `must be one of ${(allowedValues as unknown[]).join(', ')}`,
  const: ({ allowedValue }) => `must be ${String(allowedValue)}`,
  minLength: ({ limit }) => `must have ${limit} characters or more`,
  maxLength: ({ limit }) => `must have ${limit} characters or fewer`,
  minimum: ({ limit }) => `must be ${limit} or more`,
  maximum: ({ limit }) => `must be ${limit} or less`,
  pattern: ({ pattern }) => sentenceByPattern.get(String(pattern)) ?? `must match ${pattern}`,
  format: ({ format }, formats) => formats[String(format)] ?? `must be of the form ${format}`,
  minProperties: () => 'must be given',
}

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
    const faults = [...textFaults(request.query, ''), ...textFaults(body, '')]
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
