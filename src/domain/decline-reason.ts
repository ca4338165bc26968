import type { AuthorizationCheck } from './authorization-check.ts'
import type { ResponseCode } from './response-code.ts'

/** The reasons to decline an authorization. `service`: nothing about the card did. */
export const decliners = ['card', 'pin', 'cvv2', 'service'] as const

/**
 * Whether the same purchase may succeed. `with_other_data`: at once, with what was wrong put right.
 * `later`: after the card or the service has changed.
 */
export const retries = ['never', 'with_other_data', 'later'] as const

/** The meaning of a decline for the card's client and the cardholder. */
interface DeclineRule {
  /** `14` is about no card, and so about no client. */
  readonly responseCode: Exclude<ResponseCode, '00' | '14'>
  /** The check that objected, where other reasons have the same response code. */
  readonly objection?: Partial<Pick<AuthorizationCheck, 'check' | 'result'>>
  readonly declinedBy: (typeof decliners)[number]
  readonly retry: (typeof retries)[number]
  /** One sentence to the cardholder. */
  readonly advice: string
}

/** Why an authorization is declined. The names are stable. */
export const declineRules = {
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
  service_unavailable: {
    responseCode: '96',
    declinedBy: 'service',
    retry: 'later',
    advice: 'The payment could not be checked; try again in a few minutes.',
  },
} as const satisfies Record<string, DeclineRule>

export type DeclineReason = keyof typeof declineRules

export const declineReasons = Object.keys(declineRules) as readonly DeclineReason[]

/** Why an authorization was declined, and what follows from it. */
export interface Decline extends Pick<DeclineRule, 'declinedBy' | 'advice' | 'retry'> {
  readonly declineReason: DeclineReason
}

/**
 * Explains the answer to an authorization; null where it was approved.
 * @param checks in the order in which they were made: only the last one can have objected.
 */
export function explainDecline(
  responseCode: string,
  checks: readonly Pick<AuthorizationCheck, 'check' | 'result'>[],
): Decline | null {
  const last = checks.at(-1)
  for (const declineReason of declineReasons) {
    const { advice, declinedBy, retry, ...rule }: DeclineRule = declineRules[declineReason]
    const { check = last?.check, result = last?.result } = rule.objection ?? {}
    if (rule.responseCode === responseCode && check === last?.check && result === last?.result) {
      return { declineReason, declinedBy, advice, retry }
    }
  }
  return null
}
