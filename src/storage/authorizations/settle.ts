import type { EventType } from '../../domain/event-type.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { Hold } from '../../domain/payment.ts'
import type { ResponseCode } from '../../domain/response-code.ts'
import type { TryKind } from '../../domain/tries.ts'
import { type Connection, type Database, firstRow } from '../engine/database.ts'
import { loadSharedStatements, loadStatements } from '../engine/statements.ts'
import {
  type Claim,
  type ClaimValues,
  claimParameters,
  type OnlyHash,
} from '../idempotency/idempotency.ts'
import { type TransactionValues, transactionParameters } from '../links/transactions.ts'
import {
  type AuthorizationOrigin,
  type OriginValues,
  originValues,
  type SpentTry,
} from './begin.ts'
import type { MistakeKind } from './mistakes.ts'

/** The result of a comparison. `unresolved`: the HSM gave no answer. */
export type Comparison = 'match' | 'mismatch' | 'unresolved'

/** The record of an answered authorization. */
export interface AnsweredAuthorization extends AuthorizationOrigin {
  readonly publicToken: PublicToken
  /** Of the card. */
  readonly clientId: string
  /** A version 7 UUID: that of the row that its last try opened, or a new one. */
  readonly authorizationId: string
  readonly responseCode: string
  /** JSON. */
  readonly checks: string
  readonly durationMs: number
  /** By the clock of the service. */
  readonly now: Date
  readonly eventType: EventType
  /** JSON. */
  readonly details: string
  /** The hold of an approval; null without one. Its payment has the id of the authorization. */
  readonly hold: Hold | null
  /** The payment that an increment raises; null for other authorizations. */
  readonly increment: Increment | null
  /** JSON, from `toSpending`; null without controls. */
  readonly spending: string | null
  /** JSON: the use of a chip that is not recorded yet; null or absent without one. */
  readonly chip?: string | null
  /** JSON, from `toReservation`: an approval waits for its client; null: it is answered at once. */
  readonly decision?: string | null
}

/** The outcome of an approval that the card's client decides. */
interface ReservedApproval {
  /** For `parseReserved`; null: the authorization was answered at once. */
  readonly reserved: string | null
}

/** The payment that an increment raises: one with this id, or that of the network's transaction. */
export interface Increment {
  readonly paymentId: string | null
  /** Whether its amount is the new total of the payment, of which the difference is taken. */
  readonly isNewTotal?: boolean
}

interface HoldValues {
  readonly heldAmount: number | null
  readonly heldCurrencyCode: string | null
  readonly holdExpiresAt: Date | null
  readonly isIncrement: boolean
  readonly raisedPaymentId: string | null
  readonly isNewTotal: boolean
}

const holdValues = ({
  hold,
  increment,
}: Pick<AnsweredAuthorization, 'hold' | 'increment'>): HoldValues => ({
  heldAmount: hold?.amount ?? null,
  heldCurrencyCode: hold?.currency ?? null,
  holdExpiresAt: hold?.expiresAt ?? null,
  isIncrement: increment !== null,
  raisedPaymentId: increment?.paymentId ?? null,
  isNewTotal: increment?.isNewTotal ?? false,
})

/** A spent try with its result. */
interface ComparedTry {
  readonly spent: SpentTry
  readonly comparison: Comparison
}

/** An answer to store under a claim, if the stated number of tries remains. */
export interface ForeseenAnswer extends OnlyHash {
  readonly claimId: string
  /** Null if the card's client decides. */
  readonly answer: Uint8Array | null
  readonly remaining: number
}

/** The result of a settled authorization. */
interface Settlement extends ReservedApproval {
  readonly remaining: number
  /** The first stored answer of the claim; null without one, or the claim was deleted. */
  readonly answer: Uint8Array | null
  readonly isOwn: boolean
  /** A reversal of the transaction came first, and 94 was recorded. */
  readonly isReversed: boolean
  /** The code of limits or a merchant lock: `10` for a part; null if they allow the whole. */
  readonly limitCode: ResponseCode | null
  /** An increment opened a payment of its own, and not the named one was raised. */
  readonly isFlagged: boolean
  /** The approved part of the amount; null unless it was approved in part. */
  readonly approvedAmount: number | null
}

type TryValues = Pick<SpentTry, 'publicToken' | 'kind' | 'tryNumber' | 'epoch'>

type SettleValues = TryValues &
  HoldValues &
  Omit<
    AnsweredAuthorization,
    'clientId' | 'transaction' | 'hold' | 'increment' | 'decision' | 'chip'
  > & {
    readonly decision: string | null
    readonly networkTransactionId: string | null
    readonly comparison: Comparison
    readonly claimantId: string | null
    readonly claimKey: Uint8Array | null
    readonly claimId: string | null
    readonly answer: Uint8Array | null
    readonly foreseenTries: number | null
  }

const declare = loadStatements(import.meta.url)
const shared = loadSharedStatements(import.meta.url)

const settle = shared.declareAct<
  SettleValues,
  Omit<Settlement, 'isOwn'> & { readonly isOwn: boolean | null }
>('settle_authorization')

const tryValues = ({ epoch, kind, publicToken, tryNumber }: SpentTry): TryValues => ({
  publicToken,
  kind,
  tryNumber,
  epoch,
})

/**
 * Settles the last try of an authorization, and answers it
 * (docs/reference/authorizations.md, "Tries").
 */
export async function settleAuthorization(
  database: Database,
  { comparison, spent }: ComparedTry,
  {
    chip: _,
    clientId: __,
    decision,
    hold,
    increment,
    transaction,
    ...authorization
  }: AnsweredAuthorization,
  keyed: ForeseenAnswer | null,
): Promise<Settlement> {
  const settlement = await settle(database, spent.publicToken, {
    ...authorization,
    decision: decision ?? null,
    ...tryValues(spent),
    ...holdValues({ hold, increment }),
    networkTransactionId: transaction.networkTransactionId,
    comparison,
    claimantId: keyed?.clientId ?? null,
    claimKey: keyed?.keyHash ?? null,
    claimId: keyed?.claimId ?? null,
    answer: keyed?.answer ?? null,
    foreseenTries: keyed?.remaining ?? null,
  })
  if (settlement?.remaining == null) throw new Error('A card has no counter of its tries.')
  return { ...settlement, isOwn: settlement.isOwn ?? false }
}

/** The next try to spend, and the row that it opens. */
interface NextTry {
  /** Of the card. */
  readonly clientId: string
  readonly kind: TryKind
  readonly authorizationId: string
}

type MatchAndSpendValues = TryValues &
  OriginValues & {
    readonly clientId: string
    readonly authorizationId: string
    readonly nextKind: TryKind
    readonly nextAuthorizationId: string
  }

const settleAndSpend = declare<
  MatchAndSpendValues,
  {
    /** The remaining tries of the kind that matched; `remaining` is of the next kind. */
    readonly remainingOfMatch: number | null
    readonly tryNumber: number | null
    readonly epoch: number | null
    readonly remaining: number | null
  }
>('settle_match_and_spend')

/** Settles a match, and spends a try of the next kind to compare. */
export async function settleMatchAndSpend(
  connection: Connection,
  { authorizationId, spent }: { readonly spent: SpentTry; readonly authorizationId: string },
  next: NextTry,
  origin: AuthorizationOrigin,
): Promise<{ readonly remaining: number; readonly spent: SpentTry | null }> {
  const rows = await settleAndSpend(connection, {
    ...tryValues(spent),
    clientId: next.clientId,
    authorizationId,
    nextKind: next.kind,
    nextAuthorizationId: next.authorizationId,
    ...originValues(origin),
  })
  const row = firstRow(rows)
  if (row?.remainingOfMatch == null) throw new Error('A card has no counter of its tries.')
  const { epoch, remaining, remainingOfMatch, tryNumber } = row
  if (tryNumber === null || epoch === null || remaining === null) {
    return { remaining: remainingOfMatch, spent: null }
  }
  const { publicToken } = spent
  return {
    remaining: remainingOfMatch,
    spent: { publicToken, kind: next.kind, tryNumber, epoch, remaining },
  }
}

/** The kind of a mistake, and the number of them within a period that counts as guessing. */
interface GuessingThreshold {
  readonly kind: MistakeKind
  readonly mistakes: number
  readonly windowSeconds: number
}

type AnswerValues = Omit<
  AnsweredAuthorization,
  'transaction' | 'hold' | 'increment' | 'decision' | 'chip'
> &
  HoldValues &
  OriginValues &
  ClaimValues &
  TransactionValues & {
    readonly decision: string | null
    readonly chip: string | null
    readonly mistakeKind: MistakeKind | null
    readonly mistakes: number | null
    /** In microseconds. */
    readonly windowLength: number | null
  }

/** The outcome of an answer. */
export interface Answered extends ReservedApproval {
  /** Whether the key was free, and no reversal came first. */
  readonly isAnswered: boolean
  /** A reversal of the transaction came before this approval, and nothing was done. */
  readonly isReversed: boolean
  /** The cryptogram was used before, and nothing was done. */
  readonly isReplayed: boolean
  /**
   * Whether the number of mistakes exceeds the threshold, and is to be
   * reported now.
   */
  readonly isGuessing: boolean
  /** The code of limits or a merchant lock: `10` for a part; null if they allow the whole. */
  readonly limitCode: ResponseCode | null
  /** An increment opened a payment of its own, and not the named one was raised. */
  readonly isFlagged: boolean
  /** The approved part of the amount; null unless it was approved in part. */
  readonly approvedAmount: number | null
}

const answer = shared.declareAct<AnswerValues, Answered>('answer_authorization')

/**
 * Answers an authorization that spends no try: its record, its event, its answer under the claim
 * and the count of a mistake commit together, or nothing is done.
 * @param mistake null unless the expiry or the cryptogram was wrong.
 */
export async function answerAuthorization(
  database: Database,
  authorization: AnsweredAuthorization,
  claim: Claim | null,
  mistake: GuessingThreshold | null = null,
): Promise<Answered> {
  const { authorizationId, checks, clientId, durationMs, publicToken, responseCode } = authorization
  const { chip = null, decision = null, details, eventType, now, spending } = authorization
  const answered = await answer(database, publicToken, {
    publicToken,
    clientId,
    authorizationId,
    ...originValues(authorization),
    responseCode,
    checks,
    durationMs,
    ...claimParameters(claim),
    ...transactionParameters(claim?.original ?? null),
    mistakeKind: mistake?.kind ?? null,
    mistakes: mistake?.mistakes ?? null,
    windowLength: mistake && mistake.windowSeconds * 1_000_000,
    now,
    eventType,
    details,
    ...holdValues(authorization),
    spending,
    decision,
    chip,
  })
  if (!answered) throw new Error('An authorization was not answered.')
  return answered
}

const answerUnknown = declare<
  ClaimValues & TransactionValues & { readonly networkId: string },
  { readonly isAnswered: boolean }
>('answer_unknown_card')

/**
 * Stores the answer about an unknown card.
 * @returns whether the key was free, and no reversal came first.
 */
export const answerUnknownCard = async (
  connection: Connection,
  networkId: string,
  claim: Claim,
): Promise<boolean> =>
  firstRow(
    await answerUnknown(connection, {
      networkId,
      ...claimParameters(claim),
      ...transactionParameters(claim.original ?? null),
    }),
  )?.isAnswered ?? false
