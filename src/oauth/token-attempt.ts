/** The response headers that an outcome brings; names in lower case. */
export type OutcomeHeaders = Readonly<Record<string, string>>

/**
 * A client's try to get a token, as whoever counts them follows it. Until the client has proved who it is, a
 * request says nothing of the client that it names: anybody may name anybody.
 */
export interface TokenAttempt {
  /** The client has proved who it is. @throws `Problem` `rate_limited` when it has had its share. */
  succeeded(clientId: string): OutcomeHeaders
  /** It has not. @throws `Problem` `rate_limited` when too many have failed before. */
  failed(): OutcomeHeaders
}

/** Where nobody counts. */
export const uncounted: TokenAttempt = { succeeded: () => ({}), failed: () => ({}) }
