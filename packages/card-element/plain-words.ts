/** Describes an error to the cardholder. No part of the error itself is shown. */
export function plainWords(error: unknown): string {
  const code = findErrorCode(error)
  if (code === 'rate_limited') return tooOften(error)
  return sentences[code] ?? (tampered.has(code) ? changed : other)
}

const changed =
  'The answer was changed on its way from your card’s issuer, so the page shows none of it. If ' +
  'this happens again, tell your bank.'
const other = 'That did not work. Nothing was shown.'

/** Codes that indicate that the relay manipulated the answer. */
const tampered = new Set([
  'malformed_answer',
  'already_opened',
  'not_sealed_to_device',
  'unknown_key',
  'invalid_signature',
  'wrong_issuer',
  'wrong_card',
  'wrong_nonce',
  'wrong_recipient',
  'wrong_content',
])

const sentences: Readonly<Record<string, string>> = {
  unreachable: 'There is no connection. Try again in a moment.',
  service_unreachable: 'The card service does not answer. Try again in a moment.',
  unavailable: 'The card service is starting. Try again in a moment.',
  keys_unavailable: 'The issuer’s keys could not be loaded, so no card data can be shown.',
  invalid_keys: 'The issuer’s keys are not valid, so no card data can be shown.',
  key_missing: 'The issuer’s keys are not valid, so no card data can be shown.',
  insecure_service: 'This page is not configured securely, so no card data is shown.',
  invalid_argument: 'This page is not configured correctly, so no card data is shown.',
  wrong_time:
    'The clock of this device is wrong, or the answer was late. Set the clock and try again.',
  card_closed: 'This card is closed.',
  card_not_found: 'This card does not exist, or it is not yours.',
  no_session: 'Your session has ended. Open the page again.',
  pin_not_revealable: 'The PIN of this card cannot be shown. You can choose a new one.',
  weak_pin:
    'That PIN is too easy to guess. Avoid series, repeats, years and parts of the card number.',
  invalid_encrypted_pin: 'The issuer could not open the sealed PIN. Try again.',
  validation_failed: 'A value in the form is not valid. Correct it and try again.',
}

function tooOften(error: unknown): string {
  const seconds = findRetryAfter(error)
  const when = seconds === null ? 'later' : `in ${minutes(seconds)}`
  return `To protect the card, this is limited. Try again ${when}.`
}

const minutes = (seconds: number): string => {
  const count = Math.ceil(seconds / 60)
  return count === 1 ? 'a minute' : `${count} minutes`
}

const findErrorCode = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''

const findRetryAfter = (error: unknown): number | null =>
  typeof error === 'object' && error !== null && 'retryAfterSeconds' in error
    ? Number(error.retryAfterSeconds) || null
    : null
