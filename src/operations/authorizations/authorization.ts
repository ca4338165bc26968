import { LRUCache } from 'lru-cache'
import Type, { type Static } from 'typebox'
import { addressResults, type GivenAddress } from '../../domain/address-check.ts'
import type { Cvv2 } from '../../domain/cvv2.ts'
import type { AskError, Decider } from '../../domain/decision.ts'
import { type CardRead, type EntryMode, entryModes } from '../../domain/entry-mode.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { Pan } from '../../domain/pan.ts'
import { responseCodes } from '../../domain/response-code.ts'
import type { Cavv, Track2 } from '../../domain/stripe.ts'
import type { Transaction } from '../../domain/transaction.ts'
import { type Hsm, type PinBlockFormat, pinBlockFormats } from '../../hsm/contract/hsm.ts'
import type { NewSpending } from '../../storage/authorizations/applied-controls.ts'
import type { AuthorizedCard } from '../../storage/authorizations/begin.ts'
import type { Mistake } from '../../storage/authorizations/mistakes.ts'
import type { AnsweredAuthorization, Increment } from '../../storage/authorizations/settle.ts'
import type { Database } from '../../storage/engine/database.ts'
import type { Claim } from '../../storage/idempotency/idempotency.ts'
import type { ZoneKeyRow } from '../../storage/keys/zone-keys.ts'

const CheckOutcomeSchema = Type.Object({
  result: Type.Enum(['match', 'mismatch', 'blocked', 'not_checked', 'unresolved']),
  remainingTries: Type.Integer({ minimum: 0 }),
})

/** The outcome of the PIN or CVV2 of a request. */
export type CheckOutcome = Static<typeof CheckOutcomeSchema>

const answerMembers = {
  approved: Type.Boolean(),
  responseCode: Type.Enum([...responseCodes]),
  approvedAmount: Type.Optional(
    Type.Integer({ description: 'The part of `amount` that was approved, with `10`.' }),
  ),
  publicToken: Type.Optional(Type.String({ examples: ['4820117360'] })),
  reference: Type.String({ examples: ['512345678901'] }),
  paymentId: Type.Optional(
    Type.String({
      format: 'uuid',
      description: 'The payment that the approval opened or, if it was named, raised.',
    }),
  ),
  pin: Type.Optional(CheckOutcomeSchema),
  cvv: Type.Optional(CheckOutcomeSchema),
  chip: Type.Optional(
    Type.Object(
      {
        data: Type.String({
          description: 'Field 55 in hexadecimal digits: the answer to the chip, and its commands.',
          examples: ['910a1122334455667788003030'],
        }),
      },
      { description: 'Where the cryptogram of the chip was right, declines included.' },
    ),
  ),
  address: Type.Optional(
    Type.Object(
      { postalCode: Type.Enum([...addressResults]), addressLine: Type.Enum([...addressResults]) },
      {
        description:
          'Where the request has `cardholderAddress`. `not_checked`: it was not given, or the ' +
          'address of the card could not be read. It declines nothing.',
      },
    ),
  ),
}

/** The answer to a card network. A decline is a normal answer. */
export const AuthorizationSchema = Type.Object(answerMembers)

/** The answer to the card's client, with the id that it reads the authorization by. */
export const SimulatedAuthorizationSchema = Type.Object({
  ...answerMembers,
  authorizationId: Type.Optional(Type.String({ format: 'uuid' })),
})
export type Authorization = Static<typeof SimulatedAuthorizationSchema>

/** The dependencies of an authorization. */
export interface AuthorizationContext {
  readonly database: Database
  readonly hsm: Hsm
  readonly zoneKeys: ZoneKeyCache
  /** The current instant, for expiry dates. */
  now(): Date
  readonly observe: AuthorizationObserver
  /** Absent where no client decides. */
  readonly decisions?: ExternalDecisions
}

/**
 * Clients that decide authorizations (docs/reference/decisions.md). Only what all checks approve is
 * put to them.
 */
export interface ExternalDecisions {
  /** Prepares the reservation of an approval. Returns null if the card's client does not decide. */
  prepare(approval: ProposedApproval): Promise<PreparedDecision | null>
  /**
   * Concludes the decision that the request with this claim waits for, if its time is over: its
   * process was lost.
   * @returns whether there was such a decision.
   */
  concludeOverdue(publicToken: PublicToken, claimId: string): Promise<boolean>
}

/** An approval before it is answered. */
export interface ProposedApproval {
  readonly request: AuthorizationRequest
  readonly card: AuthorizedCard
  /** The answer, and its record, as the checks foresee them. */
  readonly answer: Authorization
  readonly record: AnsweredAuthorization & Pick<AuthorizationRequest, 'entryMode'>
  /** The amounts that it takes from limits; null if none. */
  readonly spending: NewSpending | null
  /** The claim of the request's key; null without one. */
  readonly claim: Claim | null
}

/** A decision that is put to the card's client once its approval is reserved. */
export interface PreparedDecision {
  /** The text that `settleAuthorization` and `answerAuthorization` reserve. */
  readonly reservation: string
  /**
   * Asks the client, and concludes.
   * @param reserved what they returned.
   * @param answerChip adds the answer to the chip, which depends on what was decided.
   */
  decide(
    reserved: string,
    answerChip: (answer: Authorization) => Promise<Authorization>,
  ): Promise<Authorization>
}

/**
 * The zone keys in use, as last read. The statement that spends a try detects a replaced key, which
 * is then read again.
 */
export type ZoneKeyCache = Pick<LRUCache<string, ZoneKeyRow>, 'get' | 'set' | 'delete' | 'clear'>

/** The maximum number of cached zone keys: a network has a handful. */
const zoneKeysMost = 1_000

export const createZoneKeyCache = (): ZoneKeyCache => new LRUCache({ max: zoneKeysMost })

/** Receives the facts that operators monitor. */
export interface AuthorizationObserver {
  /** A request was answered for the first time; not called for repeats. */
  answered(authorization: Authorization): void
  /** The outcomes of a request's PIN and CVV2, whatever the final answer is. */
  checked(outcomes: Pick<Authorization, 'pin' | 'cvv'>): void
  /**
   * A given value that costs no try is not the card's. `isGuessing`: the limit was exceeded, for
   * the first time in a day.
   */
  mistakeCounted(
    mistake: Mistake & Pick<AuthorizationRequest, 'entryMode'> & { isGuessing: boolean },
  ): void
  /** A client, or what stood in for its answer, decided. */
  decided(decidedBy: Decider, error: AskError | null): void
  /** The HSM gave no answer. */
  hsmFaulted(error: unknown): void
  /** The results of an answered chip's commands were not recorded: they are sent again. */
  chipResultsLost(error: unknown): void
}

export { type EntryMode, entryModes, pinBlockFormats }

/** An authorization request of a card network. */
export interface AuthorizationRequest {
  /** The network client that sent the request. Its zone keys are used. */
  readonly networkId: string
  readonly requestId: string
  /** Null if the request's identifier cannot be that of a card. */
  readonly card: PresentedPan | { readonly publicToken: PublicToken } | null
  /** `YYYY-MM`. */
  readonly expiryDate?: string
  readonly entryMode: EntryMode
  /** How the card was read, which does not depend on the place: an ATM reads chips, too. */
  readonly cardRead: CardRead
  readonly reference: string
  readonly transaction: Transaction
  /** The payment that the request raises; absent where it is no increment. */
  readonly increment?: Increment
  /** The network's own expiry of the hold. */
  readonly holdExpiresAt?: Date
  /** Whether the terminal can take a part of the amount. */
  readonly isPartialAllowed?: boolean
  readonly pinBlock?: NamedPinBlock
  /** To be compared with that of the card. */
  readonly cardholderAddress?: GivenAddress
  readonly cvv2?: Cvv2
  readonly chip?: SentChip
  /** From the stripe or from the chip. */
  readonly track2?: Track2
  /** A stripe was read at a terminal that can read chips. */
  readonly isFallback?: boolean
  /** The value of a 3-D Secure authentication. */
  readonly cavv?: Cavv
  /**
   * Called when the request begins to wait for the card's client, once or more often. It then needs
   * none of the capacity that requests of its network share.
   */
  readonly onWaiting?: () => void
}

/** A PAN, with its fingerprints if they are known: one for each version of their key. */
interface PresentedPan {
  readonly pan: Pan
  readonly panFingerprints?: readonly Uint8Array[]
}

/** The chip data of a request, and what else says where and when the chip was used. */
interface SentChip {
  /** 2 digits, from outside the chip data, which may have one of their own. */
  readonly panSequenceNumber?: string
  /** Field 55. */
  readonly data: Uint8Array
  /** ISO 3166-1, numeric: that of the acquirer. */
  readonly acquirerCountry?: string
  /** `MMDD`, at the terminal. */
  readonly localDate?: string
}

/** A PIN block as in a request. */
interface NamedPinBlock {
  readonly format: PinBlockFormat
  /** The name of one of the network's zone keys. */
  readonly key: string
  /** Hexadecimal; of any length, because a wrong length is answered, not refused. */
  readonly data: string
}
