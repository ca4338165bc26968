import type { Expiry } from './calendar.ts'

/** The statuses of a card: the name on the wire and the allowed moves. */
export const cardStatuses = {
  '02': { status: 'Inactive', description: 'Inactive', moves: ['00', '41', '43', '46', '83'] },
  '00': { status: 'Active', description: 'Active', moves: ['62', '41', '43', '46', '83'] },
  '62': { status: 'Restricted', description: 'Restricted', moves: ['00', '41', '43', '46', '83'] },
  '41': { status: 'Lost', description: 'Lost', moves: [] },
  '43': { status: 'Stolen', description: 'Stolen', moves: [] },
  '46': { status: 'Closed', description: 'Closed', moves: [] },
  '54': { status: 'Expired', description: 'Expired', moves: [] },
  '83': { status: 'Destroyed', description: 'Destroyed', moves: [] },
} as const

/** `cardStatusCode` on the wire. */
export type CardStatusCode = keyof typeof cardStatuses
/** `status` of a card on the wire. */
type CardStatusName = (typeof cardStatuses)[CardStatusCode]['status']

/** Every code, in ascending order. */
export const cardStatusCodes: readonly CardStatusCode[] = Object.keys(cardStatuses)
  .filter(isCardStatusCode)
  .sort()

/** Whether the text is one of the codes. */
export function isCardStatusCode(text: string): text is CardStatusCode {
  return Object.hasOwn(cardStatuses, text)
}

/** A card's status, as three members on the wire. */
export interface CardStatus {
  readonly status: CardStatusName
  readonly cardStatusCode: CardStatusCode
  readonly cardStatusDescription: string
}

/** A status with its name and description. */
export const describeCardStatus = (code: CardStatusCode): CardStatus => ({
  status: cardStatuses[code].status,
  cardStatusCode: code,
  cardStatusDescription: cardStatuses[code].description,
})

/** Lists the statuses that a card can move to from a status, except the status itself. */
export const allowedMoves = (from: CardStatusCode): readonly CardStatusCode[] =>
  cardStatuses[from].moves

/** Whether a card can move from one status to another. Keeping the status is not a move. */
export const mayMove = (from: CardStatusCode, to: CardStatusCode): boolean =>
  allowedMoves(from).includes(to)

/** Whether a card can never leave the status. */
export const isFinal = (code: CardStatusCode): boolean => allowedMoves(code).length === 0

/**
 * Returns the status at an instant: a card that is not in a final status expires after its last
 * day.
 */
export const statusAt = (stored: CardStatusCode, expiry: Expiry, at: Date): CardStatusCode =>
  !isFinal(stored) && expiry.isPast(at) ? '54' : stored
