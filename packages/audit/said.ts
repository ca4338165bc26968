/** The members of an entry's text. Each of them may be absent. */
export interface EntryText extends Readonly<Record<string, unknown>> {
  /** The details of the act; empty without a text. */
  readonly details: Readonly<Record<string, unknown>>
}

/** Parses an entry's text; the result is empty unless the text is an object. */
export function parseEntryText(text: string): EntryText {
  const said = parseObject(text)
  return { ...said, details: toMembers(said.details) }
}

/**
 * Whether a text is an object in canonical form: without unnecessary escapes, members or spaces.
 */
export function isCanonical(text: string): boolean {
  try {
    const said: unknown = JSON.parse(text)
    const isObject = typeof said === 'object' && said !== null && !Array.isArray(said)
    return isObject && JSON.stringify(said) === text
  } catch {
    return false
  }
}

const toMembers = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    return toMembers(JSON.parse(text))
  } catch {
    return {}
  }
}

/** Returns a member that is a string; otherwise null. */
export const textIn = (member: unknown): string | null =>
  typeof member === 'string' ? member : null
