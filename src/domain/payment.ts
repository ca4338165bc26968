import type { Merchant } from './merchant.ts'
import type { Money } from './money.ts'
import { findCharge, type Transaction, type TransactionType } from './transaction.ts'

/** The messages about a payment. `clearing`: more may follow; `finalClearing`: none does. */
export const paymentMessages = [
  'authorization',
  'increment',
  'reversal',
  'advice',
  'clearing',
  'finalClearing',
  'refund',
  'expiry',
] as const
type PaymentMessage = (typeof paymentMessages)[number]

/** The messages after the one that opened a payment, as they are recorded. */
export const laterMessages = [
  'increment',
  'reversal',
  'advice',
  'clearing',
  'refund',
  'expiry',
] as const
export type LaterMessage = (typeof laterMessages)[number]

/** The states of a payment, derived from its sums. */
export const paymentStates = ['open', 'partlyCleared', 'cleared', 'voided', 'expired'] as const
export type PaymentState = (typeof paymentStates)[number]

/** The states that a message may meet. `none`: it names no known payment. */
export const paymentSituations = ['none', ...paymentStates] as const
type PaymentSituation = (typeof paymentSituations)[number]

/** The effects of messages on payments, for the reference. */
export const paymentEffects = {
  open: 'opens a payment',
  openFlagged: 'opens a payment, flagged',
  openDecided: 'opens a payment that the network decided',
  raise: 'raises the hold',
  remember: 'remembered; a later original is declined with 94',
  release: 'takes back what is open; nothing left: voided, or cleared if a part was',
  replace: 'the open amount becomes that of the advice',
  reopen: 'holds the amount of the advice again, flagged',
  clear: 'moves money; the rest stays held',
  clearFinal: 'moves money; nothing stays held',
  clearLate: 'moves money, late',
  force: 'opens a forced payment',
  forceFinal: 'opens a forced payment',
  refund: 'moves money back',
  credit: 'opens a credit payment',
  expire: 'releases the hold',
  close: 'releases the rest of the hold',
  record: 'recorded, no effect',
  ignore: 'nothing',
} as const
export type PaymentEffect = keyof typeof paymentEffects

/**
 * What each message does in each state. The database has the same table
 * (database/functions/payments/choose-payment-effect.sql), and a test compares every cell.
 */
export const paymentRules: Readonly<
  Record<PaymentMessage, Readonly<Record<PaymentSituation, PaymentEffect>>>
> = {
  authorization: {
    none: 'open',
    open: 'open',
    partlyCleared: 'open',
    cleared: 'open',
    voided: 'open',
    expired: 'open',
  },
  increment: {
    none: 'openFlagged',
    open: 'raise',
    partlyCleared: 'raise',
    cleared: 'openFlagged',
    voided: 'openFlagged',
    expired: 'openFlagged',
  },
  reversal: {
    none: 'remember',
    open: 'release',
    partlyCleared: 'release',
    cleared: 'record',
    voided: 'record',
    expired: 'record',
  },
  advice: {
    none: 'openDecided',
    open: 'replace',
    partlyCleared: 'replace',
    cleared: 'record',
    voided: 'reopen',
    expired: 'reopen',
  },
  clearing: {
    none: 'force',
    open: 'clear',
    partlyCleared: 'clear',
    cleared: 'clearLate',
    voided: 'clearLate',
    expired: 'clearLate',
  },
  finalClearing: {
    none: 'forceFinal',
    open: 'clearFinal',
    partlyCleared: 'clearFinal',
    cleared: 'clearLate',
    voided: 'clearLate',
    expired: 'clearLate',
  },
  refund: {
    none: 'credit',
    open: 'refund',
    partlyCleared: 'refund',
    cleared: 'refund',
    voided: 'credit',
    expired: 'credit',
  },
  expiry: {
    none: 'ignore',
    open: 'expire',
    partlyCleared: 'close',
    cleared: 'ignore',
    voided: 'ignore',
    expired: 'ignore',
  },
}

/** The sums of a payment, in the smallest unit of its currency. */
interface PaymentSums {
  /** An advice sets it to what was reversed and cleared, and its amount. The others only grow. */
  readonly approved: number
  /** The reversed part of the approved amount. */
  readonly reversed: number
  readonly cleared: number
  /** The payment holds nothing, and no further clearing is expected. */
  readonly isFinal: boolean
  readonly isExpired: boolean
}

/** Derives the state of a payment. */
export function derivePaymentState(payment: PaymentSums): PaymentState {
  if (payment.isFinal) return 'cleared'
  if (payment.isExpired) return 'expired'
  if (payment.cleared > 0) return 'partlyCleared'
  return payment.approved > payment.reversed ? 'open' : 'voided'
}

/** Derives what is still held of a payment. */
export const deriveOpenAmount = (payment: PaymentSums): number =>
  payment.isFinal || payment.isExpired
    ? 0
    : Math.max(0, payment.approved - payment.reversed - payment.cleared)

/** The transaction types that take money from the card, and so hold their amount. */
const holdingTypes: readonly TransactionType[] = [
  'purchase',
  'cash',
  'cashback',
  'quasiCash',
  'funding',
]

/** The amount that an approved authorization holds. */
export interface Hold extends Money {
  readonly expiresAt: Date
}

/**
 * Composes what an approved authorization holds: null where it moves no money from the card, such
 * as an account check, whose amount is 0.
 * @param at the time of the approval.
 * @param networkExpiresAt the expiry that the network gives the hold, which wins.
 * @param productDays how long the product lets holds last; null: by the merchant's category.
 */
export function composeHold(
  transaction: Transaction,
  at: Date,
  networkExpiresAt: Date | null = null,
  productDays: number | null = null,
): Hold | null {
  const { merchant, transactionType } = transaction
  const charge = findCharge(transaction)
  if (!charge || charge.amount === 0 || !holdingTypes.includes(transactionType)) return null
  return { ...charge, expiresAt: networkExpiresAt ?? computeHoldExpiry(merchant, at, productDays) }
}

/** Computes when a hold at a merchant expires. */
export const computeHoldExpiry = (
  merchant: Merchant | null,
  at: Date,
  productDays: number | null = null,
): Date => new Date(at.getTime() + (productDays ?? countHoldDays(merchant)) * dayMs)

const dayMs = 86_400_000

/** Merchants whose holds last longer or shorter, by category codes (ISO 18245), bounds included. */
const holdRules: readonly {
  readonly merchants: string
  readonly days: number
  readonly categoryCodes: readonly (readonly [first: string, last: string])[]
}[] = [
  {
    merchants: 'airlines',
    days: 31,
    categoryCodes: [
      ['3000', '3350'],
      ['4511', '4511'],
    ],
  },
  {
    merchants: 'car rental',
    days: 31,
    categoryCodes: [
      ['3351', '3500'],
      ['7512', '7513'],
      ['7519', '7519'],
    ],
  },
  {
    merchants: 'lodging',
    days: 31,
    categoryCodes: [
      ['3501', '3999'],
      ['7011', '7012'],
    ],
  },
  { merchants: 'cruise lines', days: 31, categoryCodes: [['4411', '4411']] },
  { merchants: 'fuel pumps', days: 1, categoryCodes: [['5542', '5542']] },
]

/** How many days a hold lasts at all other merchants. */
const ordinaryHoldDays = 7

/** Returns how many days a hold lasts at a merchant. */
export function countHoldDays(merchant: Pick<Merchant, 'categoryCode'> | null): number {
  const categoryCode = merchant?.categoryCode
  if (categoryCode === undefined) return ordinaryHoldDays
  const rule = holdRules.find(({ categoryCodes }) =>
    categoryCodes.some(([first, last]) => first <= categoryCode && categoryCode <= last),
  )
  return rule?.days ?? ordinaryHoldDays
}
