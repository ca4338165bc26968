/** The members of an entry's text. None of them is certain to be present. */
export interface EntryText extends Readonly<Record<string, unknown>> {
  /** What the entry says of its act; no members where it says nothing. */
  readonly details: Readonly<Record<string, unknown>>
}

/** Reads an entry's text; it says nothing where it is no object. */
export function parseEntryText(text: string): EntryText {
  const said = parseObject(text)
  return { ...said, details: toMembers(said.details) }
}

/**
 * Whether a text is an object in the one form in which entries are written: no escape, member or
 * space that is not needed.
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

/** A member that is a text; null where it is none. */
export const textIn = (member: unknown): string | null =>
  typeof member === 'string' ? member : null
