/** The members of a JSON object. Nothing is known of their types. */
export type Members = Readonly<Record<string, unknown>>

/** The members of a value that was parsed from JSON; none if it is not an object. */
export const toMembers = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {}
