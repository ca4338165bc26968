/** Values that steps have saved, and the data of the cards: `ana.pin`. */
export type Variables = Map<string, string | number | boolean>

const reference = /\$\{([a-zA-Z0-9.]+)\}/g

/** A name in a file that stands for nothing. */
export class UnknownName extends Error {}

function findValue(variables: Variables, name: string): string | number | boolean {
  const value = variables.get(name)
  if (value !== undefined) return value
  const names = [...variables.keys()].sort().join(', ')
  throw new UnknownName(`\${${name}} has no value here. Known: ${names || 'nothing'}.`)
}

/** Replaces names by their values. A text that is one name becomes the value itself. */
export function fill(value: unknown, variables: Variables): unknown {
  if (typeof value === 'string') {
    const [whole, only] = /^\$\{([a-zA-Z0-9.]+)\}$/.exec(value) ?? []
    if (whole !== undefined && only !== undefined) return findValue(variables, only)
    return value.replace(reference, (_, name: string) => String(findValue(variables, name)))
  }
  if (Array.isArray(value)) return value.map((each) => fill(each, variables))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, fill(member, variables)]),
  )
}

/** A difference between an expected and an actual value. */
export interface Difference {
  readonly pointer: string
  readonly expected: unknown
  readonly actual: unknown
}

const id = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const instant = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$/

/** Texts in a file that stand for any value of a kind. */
const kinds: Readonly<Record<string, (actual: unknown) => boolean>> = {
  '<any>': (actual) => actual !== undefined,
  '<absent>': (actual) => actual === undefined,
  '<id>': (actual) => typeof actual === 'string' && id.test(actual),
  '<instant>': (actual) => typeof actual === 'string' && instant.test(actual),
}

/** Lists the differences. Members that are not expected are ignored. */
export function compare(expected: unknown, actual: unknown, pointer = ''): Difference[] {
  const isKind = typeof expected === 'string' ? kinds[expected] : undefined
  if (isKind) return isKind(actual) ? [] : [{ pointer, expected, actual }]
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) {
      return [{ pointer, expected, actual }]
    }
    return expected.flatMap((each, at) => compare(each, actual[at], `${pointer}/${at}`))
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null) return [{ pointer, expected, actual }]
    const members = actual as Readonly<Record<string, unknown>>
    return Object.entries(expected).flatMap(([name, member]) =>
      compare(
        member,
        Object.hasOwn(members, name) ? members[name] : undefined,
        `${pointer}/${name}`,
      ),
    )
  }
  return Object.is(expected, actual) ? [] : [{ pointer, expected, actual }]
}

/** Members whose values are never printed. */
const secrets = /^(?:pin|cvv|pan|secret|key|access_token)$/i

/** Texts that differ in every run, and what is printed in their place. */
const varying: readonly (readonly [RegExp, string])[] = [
  [id, '<id>'],
  [instant, '<instant>'],
  [/^[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?$/, '<date>'],
  [/^[1-9][0-9]{9}$|^[0-9]{6}\*+[0-9]{4}$/, '<card>'],
]

/**
 * Prints a value for people: the same in every run. A value that a name stands for is printed as
 * the name; other ids, instants and tokens are printed as their kind, and secrets not at all.
 */
export function show(value: unknown, variables: Variables): string {
  if (value === undefined) return '<absent>'
  const names = new Map([...variables].map(([name, each]) => [each, `\${${name}}`] as const))
  const showText = (text: string): string => {
    const name = text.length > 2 ? names.get(text) : undefined
    return name ?? varying.find(([pattern]) => pattern.test(text))?.[1] ?? text
  }
  return JSON.stringify(value, (member, each: unknown) => {
    if (secrets.test(member) && typeof each !== 'object') return '****'
    return typeof each === 'string' ? showText(each) : each
  })
}

/** Returns the value at a JSON Pointer (RFC 6901); undefined if the value has no such member. */
export function findAt(value: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((part, name) => {
      if (typeof part !== 'object' || part === null || !Object.hasOwn(part, name)) return undefined
      return (part as Readonly<Record<string, unknown>>)[name]
    }, value)
}
