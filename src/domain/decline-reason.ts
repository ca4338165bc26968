import type { AuthorizationCheck } from './authorization-check.ts'
import type { ChipFinding } from './chip-findings.ts'
import type { DeclineCode } from './response-code.ts'

/**
 * What declines an authorization. `client`: the card's client, when it was asked. `fallback`: what
 * stood in for the client's answer. `service`: nothing about the card did.
 */
export const decliners = [
  'card',
  'product_control',
  'card_control',
  'pin',
  'cvv2',
  'chip',
  'client',
  'fallback',
  'service',
] as const

/**
 * Whether the same purchase may succeed. `with_other_data`: at once, with what was wrong put right.
 * `later`: after the card or the service has changed.
 */
export const retries = ['never', 'with_other_data', 'later'] as const

/** The meaning of a decline for the card's client and the cardholder. */
interface DeclineRule {
  /** `14` is about no card, and so about no client. */
  readonly responseCode: Exclude<DeclineCode, '14'>
  /** The check that objected, where other reasons have the same response code. */
  readonly objection?: Partial<Pick<AuthorizationCheck, 'check' | 'result' | 'control'>> & {
    readonly finding?: ChipFinding
  }
  /** `control`: a control of the card or of its product, as the check says. */
  readonly declinedBy: (typeof decliners)[number] | 'control'
  readonly retry: (typeof retries)[number]
  /** One sentence to the cardholder. */
  readonly advice: string
}

/** Why an authorization is declined. The names are stable. */
export const declineRules = {
  plastic_not_activated: {
    responseCode: '78',
    objection: { check: 'plastic' },
    declinedBy: 'card',
    retry: 'later',
    advice: 'Activate your new card before you use it; until then, use the present one.',
  },
  card_not_activated: {
    responseCode: '78',
    declinedBy: 'card',
    retry: 'later',
    advice: 'Activate the card before you use it.',
  },
  card_restricted: {
    responseCode: '62',
    declinedBy: 'card',
    retry: 'later',
    advice: 'The card is frozen; ask your card issuer to unfreeze it.',
  },
  // The person who reads the advice may be the one who found or stole the card.
  card_lost: {
    responseCode: '41',
    declinedBy: 'card',
    retry: 'never',
    advice: 'The card can no longer be used; contact your card issuer.',
  },
  card_stolen: {
    responseCode: '43',
    declinedBy: 'card',
    retry: 'never',
    advice: 'The card can no longer be used; contact your card issuer.',
  },
  card_closed: {
    responseCode: '46',
    declinedBy: 'card',
    retry: 'never',
    advice: 'The card is closed; use another card.',
  },
  card_expired: {
    responseCode: '54',
    objection: { check: 'status' },
    declinedBy: 'card',
    retry: 'never',
    advice: 'The card has expired; use your new card.',
  },
  plastic_retired: {
    responseCode: '54',
    objection: { check: 'plastic' },
    declinedBy: 'card',
    retry: 'never',
    advice: 'A new card took the place of this one; activate the new card and use it.',
  },
  wrong_expiry_date: {
    responseCode: '54',
    objection: { check: 'expiry' },
    declinedBy: 'card',
    retry: 'with_other_data',
    advice: 'Enter the expiry date as it is printed on the card.',
  },
  inquiry_not_supported: {
    responseCode: '57',
    objection: { check: 'transaction_type' },
    declinedBy: 'service',
    retry: 'never',
    advice: 'The balance is not available here; ask your card issuer.',
  },
  currency_not_supported: {
    responseCode: '57',
    objection: { check: 'currency' },
    declinedBy: 'card',
    retry: 'with_other_data',
    advice: 'Pay in the currency of the card.',
  },
  // Reasons without an objection stand for all other objections with their response code.
  merchant_category_not_allowed: {
    responseCode: '03',
    objection: { control: 'merchantCategories' },
    declinedBy: 'control',
    retry: 'never',
    advice: 'The card cannot be used at merchants of this kind.',
  },
  merchant_not_allowed: {
    responseCode: '03',
    declinedBy: 'control',
    retry: 'never',
    advice: 'The card cannot be used at this merchant.',
  },
  country_not_allowed: {
    responseCode: '57',
    objection: { control: 'countries' },
    declinedBy: 'control',
    retry: 'never',
    advice: 'The card cannot be used in this country.',
  },
  channel_not_allowed: {
    responseCode: '57',
    objection: { control: 'channels' },
    declinedBy: 'control',
    retry: 'with_other_data',
    advice: 'The card cannot be used in this way; pay in another way, such as by chip.',
  },
  chip_data_missing: {
    responseCode: '88',
    objection: { check: 'chip', result: 'not_given' },
    declinedBy: 'chip',
    retry: 'with_other_data',
    advice: 'The terminal did not read the chip; try another terminal.',
  },
  chip_data_disagrees: {
    responseCode: '88',
    objection: { check: 'chip', finding: 'data_disagreement' },
    declinedBy: 'chip',
    retry: 'with_other_data',
    advice: 'The terminal sent two versions of the payment; try another terminal.',
  },
  invalid_chip_data: {
    responseCode: '88',
    objection: { check: 'chip' },
    declinedBy: 'chip',
    retry: 'with_other_data',
    advice: 'The terminal did not read the chip properly; try another terminal.',
  },
  chip_declined: {
    responseCode: '57',
    objection: { check: 'chip', finding: 'chip_declined' },
    declinedBy: 'chip',
    retry: 'later',
    advice: 'The chip itself declined the payment; contact your card issuer.',
  },
  fallback_not_allowed: {
    responseCode: '57',
    objection: { check: 'chip' },
    declinedBy: 'chip',
    retry: 'with_other_data',
    advice: 'Insert the card instead of swiping it.',
  },
  cryptogram_replayed: {
    responseCode: '88',
    objection: { finding: 'cryptogram_replayed' },
    declinedBy: 'chip',
    retry: 'with_other_data',
    advice: 'Insert the card again, or hold it to the reader again.',
  },
  wrong_cryptogram: {
    responseCode: '88',
    objection: { check: 'cryptogram' },
    declinedBy: 'chip',
    retry: 'with_other_data',
    advice: 'The chip could not be verified; try another terminal or contact your card issuer.',
  },
  wrong_card_value: {
    responseCode: '88',
    objection: { check: 'card_value' },
    declinedBy: 'card',
    retry: 'with_other_data',
    advice: 'The stripe could not be verified; insert the card instead.',
  },
  wrong_cavv: {
    responseCode: '88',
    objection: { check: 'cavv' },
    declinedBy: 'card',
    retry: 'with_other_data',
    advice: 'The confirmation could not be verified; pay again and confirm the payment.',
  },
  chip_pin_blocked: {
    responseCode: '75',
    objection: { check: 'offline_pin' },
    declinedBy: 'chip',
    retry: 'later',
    advice: 'The PIN in the chip is blocked; ask your card issuer to unblock it, then pay again.',
  },
  pin_missing: {
    responseCode: '86',
    objection: { result: 'not_given' },
    declinedBy: 'pin',
    retry: 'with_other_data',
    advice: 'Insert the card again and enter your PIN.',
  },
  invalid_pin_block: {
    responseCode: '86',
    objection: { result: 'failed' },
    declinedBy: 'pin',
    retry: 'with_other_data',
    advice: 'The terminal did not send a usable PIN; try another terminal.',
  },
  wrong_pin: {
    responseCode: '55',
    declinedBy: 'pin',
    retry: 'with_other_data',
    advice: 'Enter your PIN again with care: a few wrong PINs block it.',
  },
  pin_blocked: {
    responseCode: '75',
    declinedBy: 'pin',
    retry: 'later',
    advice: 'The PIN is blocked; ask your card issuer to unblock it.',
  },
  wrong_cvv2: {
    responseCode: 'N7',
    objection: { result: 'failed' },
    declinedBy: 'cvv2',
    retry: 'with_other_data',
    advice: 'Enter the security code as it is printed on the card.',
  },
  cvv2_blocked: {
    responseCode: 'N7',
    objection: { result: 'blocked' },
    declinedBy: 'cvv2',
    retry: 'later',
    advice: 'The security code is blocked; ask your card issuer to unblock it.',
  },
  transaction_reversed: {
    responseCode: '94',
    declinedBy: 'service',
    retry: 'with_other_data',
    advice: 'The merchant cancelled the payment before it was made; pay again.',
  },
  invalid_amount: {
    responseCode: '13',
    declinedBy: 'control',
    retry: 'with_other_data',
    advice: 'The merchant did not send an amount; ask for a new payment.',
  },
  amount_over_limit: {
    responseCode: '61',
    declinedBy: 'control',
    retry: 'later',
    advice: 'The amount is over the spending limit of the card; pay less or later.',
  },
  count_over_limit: {
    responseCode: '65',
    declinedBy: 'control',
    retry: 'later',
    advice: 'The card has been used as often as its limit allows; pay later.',
  },
  // A client may also decline with the reasons of controls and of the card above.
  do_not_honor: {
    responseCode: '05',
    declinedBy: 'client',
    retry: 'later',
    advice: 'Your card issuer declined the payment; ask there for the reason.',
  },
  insufficient_funds: {
    responseCode: '51',
    declinedBy: 'client',
    retry: 'later',
    advice: 'The balance is too low; add money or pay less.',
  },
  suspected_fraud: {
    responseCode: '59',
    declinedBy: 'client',
    retry: 'never',
    advice: 'The payment looks unusual; contact your card issuer.',
  },
  transaction_not_permitted: {
    responseCode: '57',
    declinedBy: 'client',
    objection: { check: 'decision' },
    retry: 'never',
    advice: 'Your card issuer does not allow payments of this kind.',
  },
  authentication_required: {
    responseCode: '1A',
    declinedBy: 'client',
    retry: 'with_other_data',
    advice: 'Pay again and confirm the payment, for example with your PIN or in your app.',
  },
  decision_unavailable: {
    responseCode: '91',
    declinedBy: 'fallback',
    retry: 'later',
    advice: 'Your card issuer could not be reached; try again in a few minutes.',
  },
  service_unavailable: {
    responseCode: '96',
    declinedBy: 'service',
    retry: 'later',
    advice: 'The payment could not be checked; try again in a few minutes.',
  },
} as const satisfies Record<string, DeclineRule>

export type DeclineReason = keyof typeof declineRules

export const declineReasons = Object.keys(declineRules) as readonly DeclineReason[]

/** The reasons that only a decision has, of the card's client or of what stood in for it. */
export const decisionReasons = [
  'do_not_honor',
  'insufficient_funds',
  'suspected_fraud',
  'transaction_not_permitted',
  'authentication_required',
  'decision_unavailable',
] as const satisfies readonly DeclineReason[]

/** Why an authorization was declined, and what follows from it. */
export interface Decline extends Pick<DeclineRule, 'advice' | 'retry'> {
  readonly declineReason: DeclineReason
  readonly declinedBy: (typeof decliners)[number]
  /** The control that declined, such as `limits.day`. */
  readonly control?: string
}

/**
 * Explains the answer to an authorization; null where it was approved.
 * @param checks in the order in which they were made: only the last one can have objected.
 */
export function explainDecline(
  responseCode: string,
  checks: readonly CheckVerdict[],
): Decline | null {
  const last = checks.at(-1)
  if (last?.check === 'decision' && last.reason && last.responseCode === responseCode) {
    const { advice, retry } = declineRules[last.reason]
    const declinedBy = last.decidedBy === 'endpoint' ? 'client' : 'fallback'
    return { declineReason: last.reason, declinedBy, advice, retry }
  }
  for (const declineReason of declineReasons) {
    const { advice, declinedBy, retry, ...rule }: DeclineRule = declineRules[declineReason]
    if (rule.responseCode !== responseCode || !isObjection(last, rule.objection)) continue
    if (declinedBy !== 'control') return { declineReason, declinedBy, advice, retry }
    return {
      declineReason,
      declinedBy: last?.owner === 'product' ? 'product_control' : 'card_control',
      ...(last?.control !== undefined && { control: last.control }),
      advice,
      retry,
    }
  }
  return null
}

type CheckVerdict = Pick<
  AuthorizationCheck,
  'check' | 'result' | 'control' | 'owner' | 'responseCode' | 'reason' | 'decidedBy' | 'findings'
>

const isObjection = (
  last: CheckVerdict | undefined,
  { check, control, finding, result }: NonNullable<DeclineRule['objection']> = {},
): boolean =>
  (check === undefined || check === last?.check) &&
  (result === undefined || result === last?.result) &&
  (control === undefined || control === last?.control) &&
  (finding === undefined || last?.findings?.includes(finding) === true)
