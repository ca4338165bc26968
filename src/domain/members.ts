/** The members of a JSON object, with unknown types. */
export type Members = Readonly<Record<string, unknown>>

/** Returns the members of a value that was parsed from JSON; none if it is not an object. */
export const toMembers = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {}
