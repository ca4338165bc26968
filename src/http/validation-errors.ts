import type { FastifyRequest, FastifySchemaValidationError } from 'fastify'
import { type Problem, type ProblemError, validationFailed } from '../errors.ts'
import { patternSentence } from './string-patterns.ts'

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
