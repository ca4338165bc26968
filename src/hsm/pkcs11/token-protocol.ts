import type { TokenSettings } from './token-session.ts'
import type { TokenVerbs } from './token-verbs.ts'

/** The first message to the process that holds the token. */
export interface Start {
  readonly settings: TokenSettings
  /** A key that the token must have; null when this installation does not know its token yet. */
  readonly checkValue: string | null
}

/** The answer to it. */
export type Started =
  | { readonly checkValues: readonly string[] }
  /** `isFinal`: trying again would do harm. */
  | { readonly failure: string; readonly isFinal: boolean }

/** Every other message to it. */
export type Question = {
  [Verb in keyof TokenVerbs]: {
    readonly id: number
    readonly verb: Verb
    readonly given: Parameters<TokenVerbs[Verb]>
  }
}[keyof TokenVerbs]

/** The answer to it. */
export type Answer =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly failure: string; readonly kind: FailureKind }

/**
 * `refused`: what was asked was wrong; `keyRefused`: a key may not be taken, and why may be told;
 * `unavailable`: the token did not do what was asked.
 */
export type FailureKind = 'refused' | 'keyRefused' | 'unavailable'
