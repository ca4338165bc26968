/** When a version that has a successor retires. */
export type Retirement =
  /** After all its data was re-encrypted under the successor. */
  | { readonly by: 're-encryption' }
  /** A number of seconds after its successor became active, when its output is no longer valid. */
  | { readonly by: 'time'; readonly seconds: number }
  /** When an operator retires it and no card names it: cards keep their key versions. */
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
 * How long and how often one version of a key can be used (NIST SP 800-57 part 1 rev. 5, 5.3.6).
 */
export interface Cryptoperiod {
  /**
   * The days in which the version protects new data: the originator-usage period. Then a rotation
   * is due.
   */
  readonly originatorDays: number
  /** The days in which its output is still decrypted or verified: the recipient-usage period. */
  readonly recipientDays: number
  /** The uses after which a rotation is due; null without a limit. */
  readonly usesAtMost: number | null
}
