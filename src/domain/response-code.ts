import type { CardStatusCode } from './card-status.ts'
import type { TryKind } from './tries.ts'

/**
 * The response codes of this service (ISO 8583, field 39; N7 as Visa defines it, 88 as
 * Mastercard does).
 */
export const responseCodes = [
  '00',
  '03',
  '05',
  '10',
  '13',
  '14',
  '41',
  '43',
  '46',
  '51',
  '54',
  '55',
  '57',
  '59',
  '61',
  '62',
  '65',
  '75',
  '78',
  '86',
  '88',
  '91',
  '94',
  '96',
  '1A',
  'N7',
] as const
export type ResponseCode = (typeof responseCodes)[number]

/** The response codes of declines. */
export type DeclineCode = Exclude<ResponseCode, '00' | '10'>

/** Whether a response code approves: the whole amount, or a part of it (`10`). */
export const isApprovalCode = (responseCode: string): boolean =>
  responseCode === '00' || responseCode === '10'

/**
 * The response code of each status in which authorizations are declined. In the other statuses, a
 * try may be spent.
 */
export const statusObjections: Readonly<Partial<Record<CardStatusCode, DeclineCode>>> = {
  '02': '78',
  '41': '41',
  '43': '43',
  '46': '46',
  '54': '54',
  '62': '62',
  '83': '46',
}

/** The outcome of a PIN or CVV2 check, also when no try was left. */
export type TryOutcome = 'match' | 'mismatch' | 'unresolved' | 'blocked'

/** The response code for the outcome of a try, except a match. */
export const tryObjections: Readonly<
  Record<TryKind, Readonly<Record<Exclude<TryOutcome, 'match'>, DeclineCode>>>
> = {
  pin: { blocked: '75', mismatch: '55', unresolved: '96' },
  cvv: { blocked: 'N7', mismatch: 'N7', unresolved: '96' },
}
