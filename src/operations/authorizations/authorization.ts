import { LRUCache } from 'lru-cache'
import Type, { type Static } from 'typebox'
import type { Cvv2 } from '../../domain/cvv2.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { Pan } from '../../domain/pan.ts'
import { responseCodes } from '../../domain/response-code.ts'
import { type Hsm, type PinBlockFormat, pinBlockFormats } from '../../hsm/contract/hsm.ts'
import type { WrongExpiry } from '../../storage/authorizations/wrong-expiries.ts'
import type { Database } from '../../storage/engine/database.ts'
import type { ZoneKeyRow } from '../../storage/keys/zone-keys.ts'

const CheckOutcomeSchema = Type.Object({
  result: Type.Enum(['match', 'mismatch', 'blocked', 'not_checked', 'unresolved']),
  remainingTries: Type.Integer({ minimum: 0 }),
})

/** What became of the PIN or CVV2 in a request. */
export type CheckOutcome = Static<typeof CheckOutcomeSchema>

/** What a card network is answered. A negative answer is an answer. */
export const AuthorizationSchema = Type.Object({
  approved: Type.Boolean(),
  responseCode: Type.Enum([...responseCodes]),
  publicToken: Type.Optional(Type.String({ examples: ['4820117360'] })),
  reference: Type.String({ examples: ['512345678901'] }),
  pin: Type.Optional(CheckOutcomeSchema),
  cvv: Type.Optional(CheckOutcomeSchema),
})
export type Authorization = Static<typeof AuthorizationSchema>

/** What an authorization works with. */
export interface AuthorizationContext {
  readonly database: Database
  readonly hsm: Hsm
  readonly zoneKeys: ZoneKeyCache
  /** The instant that expiry dates are compared with. */
  now(): Date
  readonly observe: AuthorizationObserver
}

/**
 * The zone keys in use, as they were read last. One that is no more the network's is found out
 * where a try is spent, and is read again.
 */
export type ZoneKeyCache = Pick<LRUCache<string, ZoneKeyRow>, 'get' | 'set' | 'delete'>

/** A network has a handful of zone keys. */
const zoneKeysMost = 1_000

export const createZoneKeyCache = (): ZoneKeyCache => new LRUCache({ max: zoneKeysMost })

/** Is notified of what an operator watches. */
export interface AuthorizationObserver {
  /** A request was answered for the first time; not called for repeats. */
  answered(authorization: Authorization): void
  /** What a request's PIN and CVV came to, whatever is answered in the end. */
  checked(outcomes: Pick<Authorization, 'pin' | 'cvv'>): void
  /**
   * An expiry was given that is not the card's. `isGuessing`: too many were, for the first time in
   * a day.
   */
  expiryWrong(
    wrong: WrongExpiry & Pick<AuthorizationRequest, 'entryMode'> & { isGuessing: boolean },
  ): void
  /** The HSM gave no answer. */
  hsmFaulted(error: unknown): void
}

export { pinBlockFormats }

/** How the card was presented. */
export const entryModes = ['chip', 'contactless', 'magstripe', 'atm', 'ecommerce', 'moto'] as const
export type EntryMode = (typeof entryModes)[number]

/** What a card network asks. */
export interface AuthorizationRequest {
  /** The network client that asks, whose zone keys count. */
  readonly networkId: string
  readonly requestId: string
  /** Null: what names it in the request can name no card. */
  readonly card: PresentedPan | { readonly publicToken: PublicToken } | null
  /** `YYYY-MM`. */
  readonly expiryDate?: string
  readonly entryMode: EntryMode
  readonly reference: string
  readonly pinBlock?: NamedPinBlock
  readonly cvv2?: Cvv2
}

/** A PAN, with its fingerprints where they are known already: one for each version of their key. */
interface PresentedPan {
  readonly pan: Pan
  readonly panFingerprints?: readonly Uint8Array[]
}

/** A PIN block as it stands in a request. */
interface NamedPinBlock {
  readonly format: PinBlockFormat
  /** Names a zone key of the network. */
  readonly key: string
  /** Hexadecimal; of any length, because a wrong length is answered, not refused. */
  readonly data: string
}

/** Returns the HSM's answer, or null during an outage, which must never count as a wrong PIN. */
export async function callHsm<Answer>(
  { observe }: AuthorizationContext,
  ask: () => Promise<Answer>,
): Promise<Answer | null> {
  try {
    return await ask()
  } catch (error) {
    observe.hsmFaulted(error)
    return null
  }
}
