import { createHash } from 'node:crypto'
import type { Money } from '../../domain/money.ts'
import type { Pan } from '../../domain/pan.ts'
import { holdsPan } from '../../domain/pan.ts'
import { Problem } from '../../domain/problem.ts'
import type { Transaction, TransactionType } from '../../domain/transaction.ts'
import { findTokenByPan } from '../../storage/authorizations/begin.ts'
import * as storedAdvices from '../../storage/links/advices.ts'
import { findLink } from '../../storage/links/links.ts'
import {
  findCardOfTransaction,
  type OriginalElements,
  type ReversedOriginal,
  reverseByElements,
  reverseTransaction,
} from '../../storage/links/transactions.ts'
import type { AuthorizationContext } from '../authorizations/authorization.ts'
import { type ChipAdvice, takeChipReport } from '../authorizations/take-chip-report.ts'
import {
  advisePayment,
  clearPayments,
  type MessageResult,
  reversePayment,
} from '../payments/messages.ts'
import type { LinkContext } from './links.ts'
import * as transactions from './transactions.ts'

/** A transaction as its network reports it. */
export interface ReportedTransaction
  extends Pick<Transaction, 'merchant' | 'networkTransactionId'> {
  /** Null if the profile does not authorize its processing code. */
  readonly transactionType: TransactionType | null
  /** The amount that the cardholder is charged; null only if the message has no amount. */
  readonly charge: Money | null
}

/** An advice: a network reports its own decision, or a reversal. It never changes tries. */
export interface NetworkAdvice
  extends Omit<storedAdvices.NewAdvice, 'adviceHash' | 'publicToken' | 'isMatched'> {
  readonly requestId: string
  /** Equal for the same advice, and different for every other one. */
  readonly key: string
  /** Null if the field is empty or invalid. */
  readonly pan: Pan | null
  readonly numbers: transactions.TransactionNumbers
  /** Whether the network approved, or did not say. */
  readonly isApproved: boolean
  readonly transaction: ReportedTransaction
  /** The chip's report after the transaction; null without chip data. */
  readonly chip: ChipAdvice['chip'] | null
}

/** A reversal, with everything that identifies its original. */
export interface NetworkReversal extends NetworkAdvice {
  /** Null if it names no original; an unknown part is an empty text. */
  readonly original: OriginalElements | null
  /** The remaining part of the amount; null if the message does not say it. */
  readonly remaining: Money | null
}

export interface LinkAdvices {
  /** Records an advice, once, and does what it says to its payment. */
  take(advice: NetworkAdvice): Promise<'00' | '30' | AdviceFault>
  /**
   * Handles a reversal: marks its original, and takes back what is held of it. A reversal that
   * precedes its original leaves a mark for it, under the lock of one row.
   * @returns `25` if the original is unknown, `30` if its amount is in another currency.
   */
  reverse(reversal: NetworkReversal): Promise<'00' | '25' | '30' | AdviceFault>
}

type AdviceFault = ReturnType<typeof transactions.selectFaultOutcome>

export function createAdvices(given: AuthorizationContext): LinkAdvices {
  const context = { ...given, hsm: transactions.distinguishOutages(given) }
  return {
    take: (advice) => takeAdvice(context, advice).catch(transactions.selectFaultOutcome),
    reverse: (reversal) => takeReversal(context, reversal).catch(transactions.selectFaultOutcome),
  }
}

async function takeAdvice(
  context: AuthorizationContext,
  advice: NetworkAdvice,
): Promise<'00' | '30' | '94'> {
  const { panFingerprints } = await hashAdvice(context, advice)
  await recordAdvice(context, advice, panFingerprints, false)
  await reportChip(context, advice, panFingerprints)
  return selectOutcome(await applyAdvice(context, advice, panFingerprints))
}

async function takeReversal(
  context: AuthorizationContext,
  reversal: NetworkReversal,
): Promise<'00' | '25' | '30' | '94'> {
  const { panFingerprints, transactionHashes } = await hashAdvice(context, reversal)
  const original = await markOriginal(context, reversal, transactionHashes)
  const outcome = selectOutcome(await takeBack(context, reversal, panFingerprints, original))
  await recordAdvice(context, reversal, panFingerprints, original !== null)
  await reportChip(context, reversal, panFingerprints)
  if (outcome !== '00') return outcome
  return original ? '00' : '25'
}

const hashAdvice = async (
  { hsm }: AuthorizationContext,
  { networkId, numbers, pan }: NetworkAdvice,
): Promise<transactions.HashedTransaction> =>
  pan
    ? transactions.hashTransaction(hsm, networkId, pan, numbers)
    : { panFingerprints: [], transactionHashes: [] }

async function recordAdvice(
  { database }: AuthorizationContext,
  advice: NetworkAdvice,
  panFingerprints: readonly Uint8Array[],
  isMatched: boolean,
): Promise<void> {
  const { key, reference } = advice
  await storedAdvices.recordAdvice(database, {
    networkId: advice.networkId,
    linkName: advice.linkName,
    messageType: advice.messageType,
    trace: advice.trace,
    transmittedAt: advice.transmittedAt,
    amount: advice.amount,
    currency: advice.currency,
    responseCode: advice.responseCode,
    publicToken: await findTokenByPan(database, panFingerprints),
    // The sender may have put a card number into the field of the network's number.
    reference: reference !== null && holdsPan(reference) ? null : reference,
    adviceHash: createHash('sha256').update(key).digest(),
    isMatched,
  })
}

/** Marks the original as reversed, or leaves a mark for it. Null: it is unknown. */
async function markOriginal(
  { database }: AuthorizationContext,
  { networkId, original, pan }: NetworkReversal,
  transactionHashes: readonly Uint8Array[],
): Promise<ReversedOriginal | null> {
  // Many terminals use the same trace number; the other numbers are needed to identify the
  // original.
  const isNamed = original !== null && (original.transmittedAt !== '' || pan === null)
  const named = isNamed ? await reverseByElements(database, networkId, original) : null
  if (named) return named
  let matched: ReversedOriginal | null = null
  for (const transactionHash of transactionHashes) {
    matched = (await reverseTransaction(database, { networkId, transactionHash })) ?? matched
  }
  return matched
}

/** Takes back what is held of the payment: the amount of the reversal, or all but a rest. */
async function takeBack(
  context: AuthorizationContext,
  reversal: NetworkReversal,
  panFingerprints: readonly Uint8Array[],
  original: ReversedOriginal | null,
): Promise<MessageResult | null> {
  const { networkId, pan, remaining } = reversal
  const networkTransactionId = original?.networkTransactionId ?? findTransactionId(reversal)
  if (networkTransactionId === null) return null
  const message = {
    ...composeMessage(reversal, panFingerprints),
    ...(pan === null && { card: await findCard(context, networkId, networkTransactionId) }),
    networkTransactionId,
  }
  if (remaining && remaining.amount > 0) {
    return reversePayment(context, { ...message, money: remaining, isRemaining: true })
  }
  const whole = { ...message, isRemaining: false }
  const money = findReversed(reversal)
  const reversed = await reversePayment(context, { ...whole, money })
  // Nothing is nothing in every currency.
  if (money?.amount === 0) return reversed.outcome === 'wrong_currency' ? null : reversed
  // If the network did not convert the amount again, it means all of it. A repeat of such a
  // reversal was recorded without the amount.
  return reversed.outcome === 'wrong_currency' || reversed.outcome === 'reused'
    ? reversePayment(context, { ...whole, money: null })
    : reversed
}

/** Finds the card of a reversal that does not name it. */
async function findCard(
  { database }: AuthorizationContext,
  networkId: string,
  networkTransactionId: string,
) {
  const publicToken = await findCardOfTransaction(database, { networkId, networkTransactionId })
  return publicToken && { publicToken }
}

async function reportChip(
  context: AuthorizationContext,
  { chip, networkId, pan }: NetworkAdvice,
  panFingerprints: readonly Uint8Array[],
): Promise<void> {
  if (chip && pan) await takeChipReport(context, { chip, networkId }, { panFingerprints })
}

/**
 * What a reversal takes back; null: everything. An amount of 0 takes back nothing, unless the
 * message also says that nothing remains.
 */
function findReversed({ remaining, transaction }: NetworkReversal): Money | null {
  const { charge } = transaction
  return charge?.amount === 0 && remaining ? null : charge
}

/** The network's id of a transaction, or the one that its numbers make. */
const findTransactionId = ({ networkId, numbers, transaction }: NetworkAdvice): string | null =>
  transaction.networkTransactionId ?? transactions.composeTransactionId(networkId, numbers)

const composeMessage = (advice: NetworkAdvice, panFingerprints: readonly Uint8Array[]) => ({
  networkId: advice.networkId,
  requestId: advice.requestId,
  card: advice.pan && { pan: advice.pan, panFingerprints },
  messageKey: createHash('sha256').update(advice.key).digest('hex'),
  isKeyShared: true,
  paymentId: null,
  networkTransactionId: findTransactionId(advice),
  reference: advice.reference,
})

/** Does what an advice says to its payment. Null: it moves and holds nothing. */
async function applyAdvice(
  context: AuthorizationContext,
  advice: NetworkAdvice,
  panFingerprints: readonly Uint8Array[],
): Promise<MessageResult | null> {
  const { charge: money, merchant, transactionType } = advice.transaction
  if (!advice.isApproved || !money) return null
  if (transactionType === null || transactionType === 'inquiry') return null
  const message = { ...composeMessage(advice, panFingerprints), money, merchant }
  if (transactionType !== 'refund' && transactionType !== 'credit') {
    return advisePayment(context, { ...message, holdExpiresAt: null })
  }
  if (money.amount === 0) return null
  const refund = { ...message, isRefund: true, isFinal: true }
  const [refunded = null] = await clearPayments(context, [refund])
  return refunded
}

/** A message about an unknown card or payment is recorded, and accepted. */
function selectOutcome(result: MessageResult | null): '00' | '30' | '94' {
  if (result?.outcome === 'reused') return '94'
  return result?.outcome === 'wrong_currency' ? '30' : '00'
}

/** Lists the advices and reversals on a link, newest first. @throws `Problem` `not_found`. */
export async function listAdvices(
  { database }: Pick<LinkContext, 'database'>,
  linkName: string,
  before: storedAdvices.AdvicePosition | null,
  limit: number,
): Promise<storedAdvices.KnownAdvice[]> {
  if (!(await findLink(database, linkName))) throw new Problem('not_found')
  return storedAdvices.listAdviceRows(database, linkName, before, limit)
}
