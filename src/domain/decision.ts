import type { EntryMode } from './entry-mode.ts'
import type { PublicToken } from './identifiers.ts'
import type { Merchant } from './merchant.ts'
import type { Money } from './money.ts'
import type { DeclineCode } from './response-code.ts'
import type { TransactionType } from './transaction.ts'

/**
 * External decisions: a client decides an authorization in real time, after every check has passed
 * (docs/reference/decisions.md).
 */

/** The answers of a client. `challenge` declines, and asks for the cardholder's authentication. */
export const verdicts = ['approve', 'decline', 'challenge'] as const
export type DecisionVerdict = (typeof verdicts)[number]

/** The substitutes for an answer that did not come, or that cannot be used. */
export const fallbackKinds = ['decline', 'approve', 'rule'] as const
export type FallbackKind = (typeof fallbackKinds)[number]

/** The party that decided an authorization about which a client was asked. */
export const deciders = [
  'endpoint',
  'fallback:timeout',
  'fallback:error',
  'rule:timeout',
  'rule:error',
] as const
export type Decider = (typeof deciders)[number]

/** `enforce`: its answer counts. `shadow`: it is asked, and its answer is recorded only. */
export const endpointModes = ['enforce', 'shadow'] as const
export type EndpointMode = (typeof endpointModes)[number]

export const decisionFormats = ['pinfold', 'thredd-ehi'] as const
export type DecisionFormat = (typeof decisionFormats)[number]

/** Why a decision was asked for. Only `authorize` decides anything. */
export const decisionPurposes = ['authorize', 'shadow', 'replay'] as const
export type DecisionPurpose = (typeof decisionPurposes)[number]

/** The reasons of a client's decline, and the response code of each (ISO 8583, field 39). */
export const clientDeclineCodes = {
  do_not_honor: '05',
  insufficient_funds: '51',
  suspected_fraud: '59',
  amount_over_limit: '61',
  count_over_limit: '65',
  card_restricted: '62',
  merchant_not_allowed: '03',
  transaction_not_permitted: '57',
} as const satisfies Record<string, DeclineCode>
export type ClientDeclineReason = keyof typeof clientDeclineCodes

/** Why a decision declined: the client's reason, a challenge, or that no answer came. */
export type DecisionReason =
  | ClientDeclineReason
  | 'authentication_required'
  | 'decision_unavailable'

/** The fallback of an endpoint. */
export interface Fallback {
  readonly onTimeout: FallbackKind
  readonly onError: FallbackKind
  /** A CEL expression over the request; null without one. It is true to approve. */
  readonly rule: string | null
}

/** The settings of an endpoint that its client registers. */
export interface EndpointSettings {
  /** Null: requests go to the client's stream. */
  readonly url: string | null
  readonly timeoutMs: number
  /** The requests that may wait for an answer at once. */
  readonly maxInFlight: number
  readonly fallback: Fallback
  readonly mode: EndpointMode
  /** The share of authorizations that it is asked about, from 1 to 100 percent. */
  readonly samplePercent: number
  readonly format: DecisionFormat
}

/** A registered version of an endpoint. */
export interface DecisionEndpoint extends EndpointSettings {
  readonly clientId: string
  /** Null: for all products of the client that have no endpoint of their own. */
  readonly productId: number | null
  /** Versions of one endpoint are numbered from 1. */
  readonly version: number
  /** The version of the interface at its registration: requests have this form for ever. */
  readonly apiVersion: string
}

/** A limit that the transaction meets, and what was spent under it before. */
export interface DecisionLimit {
  readonly owner: 'product' | 'card'
  /** Such as `limits.day`. */
  readonly control: string
  readonly maximumAmount?: number
  readonly maximumCount?: number
  readonly spentAmount: number
  readonly spentCount: number
}

/**
 * The known facts of an authorization before its client is asked. They are stored with the
 * decision, so that the fallback of a lost process, and a replay, have the same request.
 */
export interface DecisionFacts {
  readonly card: {
    readonly publicToken: PublicToken
    readonly productId: number
    readonly lastFour: string
    readonly customerReference?: string
    /** The client's own texts by key; left out without any. */
    readonly metadata?: Readonly<Record<string, string>>
  }
  readonly authorizationId: string
  /** The payment that an approval opens, or that an increment names. */
  readonly paymentId?: string
  readonly step: 'authorization' | 'increment'
  readonly transactionType: TransactionType
  readonly amounts: {
    /** The amount that the cardholder is charged. */
    readonly billing?: Money
    /** The amount that the merchant charges. */
    readonly transaction?: Money
    /** The cash part of `transaction`. */
    readonly cashback?: Money
  }
  readonly partialAllowed: boolean
  readonly entryMode: EntryMode
  readonly cardPresent: boolean
  readonly merchant?: Merchant
  readonly network: {
    readonly networkId: string
    readonly reference: string
    readonly transactionId?: string
  }
  readonly checks: readonly { readonly check: string; readonly result: string }[]
  readonly limits: readonly DecisionLimit[]
  /** Whether the sandbox's simulator made the request. */
  readonly simulated: boolean
  /** When the request of the network arrived (RFC 3339). */
  readonly requestedAt: string
}

/** The members that the reservation adds to the facts. */
export interface ReservedDecision {
  readonly decisionId: string
  /** The number of this decision among those of its card, from 1. */
  readonly sequence: number
  /** The amount that an approval holds, a part if limits leave a part; null if it holds nothing. */
  readonly hold: Money | null
  readonly deadline: Date
}

/** A usable answer of a client. */
export interface DecisionAnswer {
  readonly decision: DecisionVerdict
  /** The part that is approved, in the smallest unit of the hold's currency; null: all of it. */
  readonly amount: number | null
  /** Of a decline; null: the client gave none. */
  readonly reason: ClientDeclineReason | null
  readonly responseCode: DeclineCode | null
  readonly holdExpiresAt: Date | null
  /** The client's own, as compact JSON; null without it. */
  readonly metadata: string | null
}

/** Why an endpoint gave no usable answer in time. */
export const askErrors = [
  'signing_failed',
  'connection_failed',
  'target_refused',
  'bad_status',
  'bad_body',
  'bad_amount',
  'too_large',
  'too_many_in_flight',
  'breaker_open',
  'no_stream',
] as const
export type AskError = (typeof askErrors)[number]

/** The outcome of a request. Hashes are SHA-256 of the exact bytes. */
export interface AskOutcome {
  /** Null without a usable answer in time. */
  readonly answer: DecisionAnswer | null
  /** Null where there is an answer, and where the time ran out. */
  readonly error: AskError | null
  readonly durationMs: number
  readonly statusCode: number | null
  readonly requestHash: Uint8Array | null
  readonly answerHash: Uint8Array | null
}
