import type { Failure } from './card-words.ts'
import { countIn, findLanguage, type Language } from './languages.ts'

/** Describes an error to the cardholder. No part of the error itself is shown. */
export function plainWords(error: unknown, language: Language = findLanguage('en')): string {
  const code = findErrorCode(error)
  if (code === 'rate_limited') return tooOften(error, language)
  return language.words.failures[failures.get(code) ?? (tampered.has(code) ? 'changed' : 'other')]
}

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

const failures: ReadonlyMap<string, Failure> = new Map<string, Failure>([
  ['unreachable', 'offline'],
  ['service_unreachable', 'noAnswer'],
  ['unavailable', 'starting'],
  ['keys_unavailable', 'keysUnavailable'],
  ['invalid_keys', 'keysInvalid'],
  ['key_missing', 'keysInvalid'],
  ['insecure_service', 'insecurePage'],
  ['invalid_argument', 'wrongPage'],
  ['wrong_time', 'wrongClock'],
  ['card_closed', 'cardClosed'],
  ['card_not_found', 'cardNotFound'],
  ['no_session', 'sessionEnded'],
  ['pin_not_revealable', 'pinNotShown'],
  ['weak_pin', 'weakPin'],
  ['invalid_encrypted_pin', 'pinNotOpened'],
  ['validation_failed', 'invalidValue'],
])

function tooOften(error: unknown, language: Language): string {
  const seconds = findRetryAfter(error)
  if (seconds === null) return language.words.tooOften
  return countIn(language, language.words.tooOftenFor, Math.ceil(seconds / 60))
}

const findErrorCode = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''

const findRetryAfter = (error: unknown): number | null =>
  typeof error === 'object' && error !== null && 'retryAfterSeconds' in error
    ? Number(error.retryAfterSeconds) || null
    : null
