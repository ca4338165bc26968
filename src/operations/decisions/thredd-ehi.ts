import { findCurrency } from '../../domain/currencies.ts'
import { type ClientDeclineReason, clientDeclineCodes } from '../../domain/decision.ts'
import type { Members } from '../../domain/members.ts'
import type { Money } from '../../domain/money.ts'
import type { TransactionType } from '../../domain/transaction.ts'
import type { DecisionRequest } from './compose-request.ts'
import { type AnswerTerms, checkAnswer, type ParsedAnswer, parseMembers } from './parse-answer.ts'

/**
 * The format of Thredd's External Host Interface in JSON: the message `GetTransaction`, MTID 0100
 * (docs.thredd.com/ehi-json, “GetTransaction Example Messages” and “JSON Data Types”). A member
 * whose value is not known here is left out, as that interface leaves out blank ones.
 */

/** The first digits of a processing code (ISO 8583, field 3, as Visa uses it). */
const processingCodes: Readonly<Record<TransactionType, string>> = {
  purchase: '00',
  cash: '01',
  cashback: '09',
  funding: '10',
  quasiCash: '11',
  refund: '20',
  credit: '26',
  inquiry: '30',
}

/** The transaction types that give money to the cardholder. */
const credits: readonly TransactionType[] = ['refund', 'credit']

/** Composes the body of a request: the same bytes at any time. */
export function composeThreddRequest({ facts, reserved }: DecisionRequest): string {
  const { amounts, card, merchant, network, transactionType } = facts
  const transaction = amounts.transaction ?? amounts.billing
  // The held amount, because the client takes it from its balance.
  const billing = reserved.hold ?? amounts.billing ?? amounts.transaction
  const sign = credits.includes(transactionType) ? 1 : -1
  return JSON.stringify({
    MTID: '0100',
    Txn_Type: 'A',
    Proc_Code: `${processingCodes[transactionType]}0000`,
    Token: Number(card.publicToken),
    ProductID: card.productId,
    Cust_Ref: card.customerReference,
    // Debits are negative, and zero has no sign.
    Bill_Amt: billing && (billing.amount === 0 ? 0 : sign * toDecimal(billing)),
    Bill_Ccy: billing && findCurrency(billing.currency)?.number,
    Txn_Amt: transaction && toDecimal(transaction),
    Txn_CCy: transaction && findCurrency(transaction.currency)?.number,
    Txn_Ctry: merchant?.country,
    Txn_Desc: merchant?.name,
    Merch_ID_DE42: merchant?.id,
    Merch_Name: merchant?.name,
    Merch_City: merchant?.city,
    Merch_Country: merchant?.country,
    MCC_Code: merchant?.categoryCode,
    POS_Termnl_DE41: merchant?.terminalId,
    Ret_Ref_No_DE37: network.reference,
    Network_Transaction_ID: network.transactionId,
  })
}

/** Parses the bytes of an answer. */
export function parseThreddAnswer(bytes: Uint8Array, terms: AnswerTerms): ParsedAnswer {
  const said = parseMembers(bytes)
  const isAcknowledged = said?.Acknowledgement === '1' || said?.Acknowledgement === 1
  const members = said && isAcknowledged ? translate(said, terms) : null
  return members === null ? { error: 'bad_body' } : checkAnswer(members, terms)
}

/** Translates an answer into the members of the format `pinfold`; null if it says nothing. */
function translate(said: Members, { hold }: AnswerTerms): Members | null {
  const { Bill_Amt_Approved: approved, Responsestatus: status } = said
  if (typeof status !== 'string' || !/^[0-9A-Z]{2}$/.test(status)) return null
  if (status === '00') return { decision: 'approve' }
  if (status === '10') return { decision: 'approve', amount: fromDecimal(approved, hold) }
  if (status === '1A') return { decision: 'challenge' }
  // A code that is not in the list still declines.
  const known = reasons.find((reason) => clientDeclineCodes[reason] === status)
  return { decision: 'decline', reason: known }
}

const reasons = Object.keys(clientDeclineCodes) as readonly ClientDeclineReason[]

const exponentOf = ({ currency }: Money): number => findCurrency(currency)?.exponent ?? 0

const toDecimal = (money: Money): number => money.amount / 10 ** exponentOf(money)

/**
 * Converts the approved amount, which may have the sign of the billed one.
 * @returns 0, which is no amount of an approval, for what cannot be converted.
 */
function fromDecimal(approved: unknown, hold: Money | null): number {
  if (typeof approved !== 'number' || hold === null) return 0
  const amount = Math.abs(approved) * 10 ** exponentOf(hold)
  const whole = Math.round(amount)
  // A decimal has no exact binary form, but a fraction of the smallest unit is no rounding error.
  return Math.abs(amount - whole) < 0.001 ? whole : 0
}
