/** When a version that has a successor retires. */
export type Retirement =
  /** When all that was under it has been re-encrypted under its successor. */
  | { readonly by: 're-encryption' }
  /**
   * When what was made under it is of no use any more, so long after its successor became active.
   */
  | { readonly by: 'time'; readonly seconds: number }
  /** When an operator says so and no card names it: cards keep what they were issued with. */
  | { readonly by: 'operator' }

/** How the public half of a pair is published (RFC 7517). */
export type Publication =
  | { readonly to: 'token verifiers'; readonly use: 'sig'; readonly algorithm: 'ES256' }
  | {
      readonly to: 'devices'
      readonly use: 'enc' | 'sig'
      readonly algorithm: 'RSA-OAEP-256' | 'PS256' | 'ES256' | 'ECDH-ES'
    }

/**
 * For how long, and how often, one version of a key may be used (NIST SP 800-57 part 1 rev. 5,
 * 5.3.6).
 */
export interface Cryptoperiod {
  /**
   * Days in which new things are made under it: the originator-usage period. Then a rotation is
   * due.
   */
  readonly originatorDays: number
  /** Days in which what it made is still opened, found or verified: the recipient-usage period. */
  readonly recipientDays: number
  /** Uses after which a rotation is due; null where there can never be too many. */
  readonly usesAtMost: number | null
}
