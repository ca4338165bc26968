import type { PublicToken } from '../../domain/identifiers.ts'
import type { Merchant } from '../../domain/merchant.ts'
import type { Money } from '../../domain/money.ts'
import { computeHoldExpiry } from '../../domain/payment.ts'
import { Problem } from '../../domain/problem.ts'
import { findTokenByPan } from '../../storage/authorizations/begin.ts'
import { newEventId } from '../../storage/events/events.ts'
import {
  type NetworkMessageKind,
  type RecordedMessage,
  type RefusedMessage,
  recordPaymentMessage,
} from '../../storage/payments/messages.ts'
import type { AuthorizationContext, AuthorizationRequest } from '../authorizations/authorization.ts'
import { nameCard } from '../authorizations/present.ts'

/** The members of every message of a network about a payment. */
interface NetworkMessage {
  /** The network client that sent the message. It names its own payments only. */
  readonly networkId: string
  readonly requestId: string
  /** Null if the message's identifier cannot be that of a card. */
  readonly card: AuthorizationRequest['card']
  /** The network's own key of the message, up to 64 characters: a repeat has the same. */
  readonly messageKey: string
  /** Whether advices, clearings and refunds have one list of keys; false if absent. */
  readonly isKeyShared?: boolean
  /** Names the payment; null: the network's transaction id does, or it is unknown. */
  readonly paymentId: string | null
  readonly networkTransactionId: string | null
  readonly reference: string | null
}

/** Takes back an approved amount. */
export interface Reversal extends NetworkMessage {
  /** Null: everything that is open. */
  readonly money: Money | null
  /** Whether the amount is what remains (ISO 8583, field 95), not what is taken back. */
  readonly isRemaining: boolean
}

/** States what the network decided: the amount that is held from now on. */
export interface Advice extends NetworkMessage {
  readonly money: Money
  readonly merchant: Merchant | null
  /** The network's own expiry of the hold; null: by the merchant's category. */
  readonly holdExpiresAt: Date | null
}

/** Moves money: from the card, or back to it. */
export interface Clearing extends NetworkMessage {
  readonly money: Money
  readonly merchant: Merchant | null
  /** Whether money moves back to the card. */
  readonly isRefund: boolean
  /** Whether no further clearing of the payment follows. */
  readonly isFinal: boolean
}

/** The outcome of a message: its effect, or the reason for its refusal. */
export type MessageResult =
  | (RecordedMessage & { readonly kind: NetworkMessageKind })
  | RefusedMessage

type PaymentContext = AuthorizationContext

/**
 * Takes back an approved amount: no more than is open. A reversal whose original is unknown is
 * remembered for 24 hours, and a later original is declined with 94.
 * @throws `Problem` `unavailable` during an outage of the database or of the HSM.
 */
export async function reversePayment(
  context: PaymentContext,
  reversal: Reversal,
): Promise<MessageResult> {
  const { card, isRemaining, money } = reversal
  const publicToken = await findCardToken(context, card)
  return recordMessage(context, publicToken, reversal, { kind: 'reversal', money, isRemaining })
}

/**
 * Holds the amount that a network decided, such as in stand-in or at the end of fuelling.
 * @throws `Problem` as {@link reversePayment}.
 */
export async function advisePayment(
  context: PaymentContext,
  advice: Advice,
): Promise<MessageResult> {
  const { card, holdExpiresAt: networkExpiresAt, merchant, money } = advice
  const publicToken = await findCardToken(context, card)
  const asked = { kind: 'advice', money, merchant, networkExpiresAt } as const
  return recordMessage(context, publicToken, advice, asked)
}

/** How many records or cards of one call are worked on at the same time. */
const atOnce = 8

/**
 * Moves the money of many payments, each in its own commit: records of one card in their order. A
 * clearing without a known payment opens a forced one, a refund a credit payment. After a failure,
 * the network sends all of them again.
 * @returns the results in the order of the records.
 */
export async function clearPayments(
  context: PaymentContext,
  clearings: readonly Clearing[],
): Promise<MessageResult[]> {
  const results = new Map<Clearing, MessageResult>()
  const tokens = new Map<Clearing, PublicToken | null>()
  await runAll(clearings, async (clearing) => {
    tokens.set(clearing, await findCardToken(context, clearing.card))
  })
  const byCard = Map.groupBy(clearings, (clearing) => tokens.get(clearing) ?? null)
  await runAll([...byCard], async ([publicToken, records]) => {
    for (const clearing of records) {
      const { isRefund, merchant, money } = clearing
      const kind = isRefund ? 'refund' : 'clearing'
      const asked = { kind, money, merchant, isFinal: clearing.isFinal && !isRefund } as const
      results.set(clearing, await recordMessage(context, publicToken, clearing, asked))
    }
  })
  return clearings.map((clearing) => results.get(clearing) ?? unknownCard)
}

const unknownCard: MessageResult = { outcome: 'unknown_card' }

/** Works on all subjects, a few at a time. */
async function runAll<Subject>(
  subjects: readonly Subject[],
  work: (subject: Subject) => Promise<void>,
): Promise<void> {
  const waiting = subjects.values()
  const worker = async () => {
    for (const subject of waiting) await work(subject)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

/** The members of a message besides the common ones. */
interface Asked {
  readonly kind: NetworkMessageKind
  readonly money: Money | null
  readonly isRemaining?: boolean
  readonly isFinal?: boolean
  readonly merchant?: Merchant | null
  readonly networkExpiresAt?: Date | null
}

async function recordMessage(
  context: PaymentContext,
  publicToken: PublicToken | null,
  message: Omit<NetworkMessage, 'card'>,
  asked: Asked,
): Promise<MessageResult> {
  if (publicToken === null) return unknownCard
  const { isFinal = false, isRemaining = false, kind, merchant = null, money } = asked
  const now = context.now()
  const result = await recordPaymentMessage(context.database, {
    publicToken,
    networkId: message.networkId,
    requestId: message.requestId,
    messageKey: message.messageKey,
    isKeyShared: message.isKeyShared ?? false,
    paymentId: message.paymentId,
    networkTransactionId: message.networkTransactionId,
    reference: message.reference,
    messageId: newEventId(),
    kind,
    money,
    isRemaining,
    isFinal,
    merchant,
    networkExpiresAt: asked.networkExpiresAt ?? null,
    now,
    holdExpiresAt: computeHoldExpiry(merchant, now),
  })
  return 'effect' in result ? { ...result, kind } : result
}

/** @throws `Problem` `unavailable` during an outage of the HSM. */
async function findCardToken(
  context: PaymentContext,
  card: NetworkMessage['card'],
): Promise<PublicToken | null> {
  if (!card) return null
  const named = await nameCard(context, card)
  if (!named) throw new Problem('unavailable', { detail: 'The HSM gave no answer.' })
  if ('publicToken' in named) return named.publicToken
  return findTokenByPan(context.database, named.panFingerprints)
}
