import type { DeclineReason } from './decline-reason.ts'
import type { ResponseCode } from './response-code.ts'

/** The names of the decline reasons for people. */
export const declineWords: Readonly<Record<DeclineReason, string>> = {
  plastic_not_activated: 'New plastic not activated',
  card_not_activated: 'Card not activated',
  card_restricted: 'Card frozen',
  card_lost: 'Card lost',
  card_stolen: 'Card stolen',
  card_closed: 'Card closed',
  card_expired: 'Card expired',
  plastic_retired: 'Plastic replaced',
  wrong_expiry_date: 'Wrong expiry date',
  inquiry_not_supported: 'Balance inquiry not supported',
  currency_not_supported: 'Currency not supported',
  merchant_category_not_allowed: 'Kind of merchant not allowed',
  merchant_not_allowed: 'Merchant not allowed',
  country_not_allowed: 'Country not allowed',
  channel_not_allowed: 'Way of payment not allowed',
  chip_data_missing: 'Chip data missing',
  chip_data_disagrees: 'Chip data contradict the message',
  invalid_chip_data: 'Invalid chip data',
  chip_declined: 'Declined by the chip',
  fallback_not_allowed: 'Stripe read instead of the chip',
  cryptogram_replayed: 'Cryptogram used before',
  wrong_cryptogram: 'Wrong cryptogram',
  wrong_card_value: 'Wrong value on the stripe',
  wrong_cavv: 'Wrong 3-D Secure value',
  chip_pin_blocked: 'PIN in the chip blocked',
  pin_missing: 'PIN missing',
  invalid_pin_block: 'Invalid PIN block',
  wrong_pin: 'Wrong PIN',
  pin_blocked: 'PIN blocked',
  wrong_cvv2: 'Wrong CVV',
  cvv2_blocked: 'CVV blocked',
  transaction_reversed: 'Reversed before the answer',
  invalid_amount: 'Amount missing',
  amount_over_limit: 'Over the spending limit',
  count_over_limit: 'Used too often',
  do_not_honor: 'Declined by the client',
  insufficient_funds: 'Insufficient funds',
  suspected_fraud: 'Suspected fraud',
  transaction_not_permitted: 'Kind of payment not allowed',
  authentication_required: 'Authentication required',
  decision_unavailable: 'No decision of the client',
  service_unavailable: 'Service unavailable',
}

export const isDeclineReason = (value: unknown): value is DeclineReason =>
  typeof value === 'string' && Object.hasOwn(declineWords, value)

/** Describes a decline for people: `Wrong PIN (55)`. A code never stands alone. */
export const describeDecline = (
  responseCode: string,
  declineReason: DeclineReason | undefined,
): string =>
  declineReason
    ? `${declineWords[declineReason]} (${responseCode})`
    : describeResponseCode(responseCode)

/** The names of the response codes for people. Several decline reasons may have the same code. */
const wordsByCode: Readonly<Record<ResponseCode, string>> = {
  '00': 'Approved',
  '03': 'Merchant not allowed',
  '05': 'Declined by the client',
  '10': 'Approved in part',
  '13': 'Invalid amount',
  '14': 'Unknown card',
  '41': 'Card lost',
  '43': 'Card stolen',
  '46': 'Card closed',
  '51': 'Insufficient funds',
  '54': 'Card expired, or wrong expiry date',
  '55': 'Wrong PIN',
  '57': 'Kind of payment not allowed',
  '59': 'Suspected fraud',
  '61': 'Over the spending limit',
  '62': 'Card frozen',
  '65': 'Used too often',
  '75': 'PIN blocked',
  '78': 'Card or plastic not activated',
  '86': 'PIN missing or unusable',
  '88': 'Wrong data of chip or stripe',
  '91': 'No decision of the client',
  '94': 'Reversed before the answer',
  '96': 'Service unavailable',
  '1A': 'Authentication required',
  N7: 'Wrong CVV, or CVV blocked',
}

const isKnown = (code: string): code is ResponseCode => Object.hasOwn(wordsByCode, code)

/** Describes a response code for people: `Wrong PIN (55)`. */
export const describeResponseCode = (code: string): string =>
  isKnown(code) ? `${wordsByCode[code]} (${code})` : `Declined (${code})`
