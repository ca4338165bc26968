import { expiryMonthsAfter } from './calendar.ts'
import { allowedMoves, type CardStatusCode, isFinal } from './card-status.ts'

/** A status in the life of a card. A retired card is restricted (62), and never active again. */
export type LifeStatus = CardStatusCode | 'retired'

/** Why a plastic, an edition of a card, was made. */
export const plasticReasons = ['Issue', 'Renewal', 'Reprint', 'Conversion'] as const
export type PlasticReason = (typeof plasticReasons)[number]

/** Whether a plastic is used: it waits for its activation, is current, or has ended. */
export const plasticStates = ['Waiting', 'Current', 'Retired', 'Cancelled'] as const
export type PlasticState = (typeof plasticStates)[number]

/**
 * The steps of a renewal: an order of the next plastic, its activation, or an order of a copy of
 * the present plastic.
 */
export const renewSteps = ['Renew', 'Migrate', 'RenewWithSameExpiry'] as const
export type RenewStep = (typeof renewSteps)[number]

/**
 * Whether a status allows an act: an expired card allows it within its product's grace period. A
 * retired card can be replaced again if its successor was closed unused, within that period, too.
 */
type Allowance = 'yes' | 'no' | 'within_grace' | 'after_unused_successor'

/** The acts that a status allows. */
interface LifeActs {
  readonly renew: Allowance
  readonly replace: Allowance
  /** A virtual card gets plastic. */
  readonly convert: Allowance
}

/** The acts that each status allows: the table of docs/reference/card-life.md. */
export const lifeActs: Readonly<Record<LifeStatus, LifeActs>> = {
  '02': { renew: 'yes', replace: 'yes', convert: 'no' },
  '00': { renew: 'yes', replace: 'yes', convert: 'yes' },
  '62': { renew: 'yes', replace: 'yes', convert: 'no' },
  retired: { renew: 'no', replace: 'after_unused_successor', convert: 'no' },
  '41': { renew: 'no', replace: 'yes', convert: 'no' },
  '43': { renew: 'no', replace: 'yes', convert: 'no' },
  '46': { renew: 'no', replace: 'no', convert: 'no' },
  '83': { renew: 'no', replace: 'yes', convert: 'no' },
  '54': { renew: 'within_grace', replace: 'within_grace', convert: 'no' },
}

/** Finds the status of a card in its life. A retired card that expired has still the status 54. */
export const findLifeStatus = (status: CardStatusCode, isRetired: boolean): LifeStatus =>
  isRetired && (status === '62' || status === '54') ? 'retired' : status

/** Whether a card is in a final status, or retired. */
export const isClosed = (status: LifeStatus): boolean => status === 'retired' || isFinal(status)

/** Why a card refuses an act for good, and what can be done instead. */
const closedDetails: Readonly<Partial<Record<LifeStatus, string>>> = {
  '41': 'The card is 41 (Lost). Use the card in replacedBy, or replace this one.',
  '43': 'The card is 43 (Stolen). Use the card in replacedBy, or replace this one.',
  '46': 'The card is 46 (Closed). Create another card.',
  '83': 'The card is 83 (Destroyed). Use the card in replacedBy, or replace this one.',
  '54': 'The card is 54 (Expired). Renew or replace it, within the months of grace of its product.',
  retired: 'The card is retired. Another card took its place: see replacedBy and the history.',
}

/** Describes why a card in a status refuses an act. */
export const describeClosed = (status: LifeStatus): string | undefined => closedDetails[status]

/** Lists the statuses that a client can set on a card. */
export const listLifeMoves = (status: LifeStatus): readonly CardStatusCode[] =>
  status === 'retired' ? allowedMoves('62').filter((code) => code !== '00') : allowedMoves(status)

/** Lists every status, in the order of a card's life. */
export const listLifeStatuses = (): readonly LifeStatus[] => [
  '02',
  '00',
  '62',
  'retired',
  '41',
  '43',
  '46',
  '83',
  '54',
]

/** The plastic whose chip is presented. The newest is not current: it waits, or was cancelled. */
export type PresentedPlastic = 'current' | 'newest' | 'former' | 'unknown'

/** How many numbers the two digits of a PAN sequence number have. */
const sequenceNumbers = 100

/**
 * Finds the plastic of a chip by its PAN sequence number. A number that no plastic has, and that of
 * a card with one plastic, can be of a bureau with numbers of its own. The same rule is the SQL
 * function is_chip_of_other_plastic.
 * @param firstPanSequenceNumber the number that the bureau gives to the chip of the first plastic.
 */
export function findPresentedPlastic(
  panSequenceNumber: string,
  {
    lastPlasticNumber,
    plasticNumber,
  }: { readonly lastPlasticNumber: number; readonly plasticNumber: number },
  firstPanSequenceNumber: number,
): PresentedPlastic {
  const presented = findPlasticNumber(panSequenceNumber, firstPanSequenceNumber)
  if (lastPlasticNumber === 0 || presented > lastPlasticNumber) return 'unknown'
  if (presented === plasticNumber) return 'current'
  return presented === lastPlasticNumber ? 'newest' : 'former'
}

/**
 * Chooses the PAN sequence number of a new virtual chip: that of the current plastic, or the one
 * after its former chip if this is later. A lower one would be that of a retired plastic.
 * @param former the number of the chip that it replaces; null for the first.
 */
export function chooseSequenceNumber(
  plasticNumber: number,
  former: string | null,
  firstPanSequenceNumber: number,
): string {
  const next = former === null ? 0 : findPlasticNumber(former, firstPanSequenceNumber) + 1
  const chosen = Math.max(next % sequenceNumbers, plasticNumber) + firstPanSequenceNumber
  return String(chosen % sequenceNumbers).padStart(2, '0')
}

/** The numbers begin again after 99. */
const findPlasticNumber = (panSequenceNumber: string, firstPanSequenceNumber: number): number =>
  (Number(panSequenceNumber) - firstPanSequenceNumber + sequenceNumbers) % sequenceNumbers

/** The subject of the texts of one plastic, so that none opens as those of another. */
export const freeTextSubject = (publicToken: string, plasticNumber: number): string =>
  `${publicToken}/${plasticNumber}`

/** A card with its last day before the status 54 (`YYYY-MM-DD`), and the grace of its product. */
interface CardWithGrace {
  readonly validUntil: string
  readonly renewalGraceMonths: number
}

/**
 * Finds the earliest last day (`YYYY-MM-DD`) of an expired card that is within its months of grace
 * today (`YYYY-MM-DD`).
 */
export const findGraceStart = (
  { renewalGraceMonths }: Pick<CardWithGrace, 'renewalGraceMonths'>,
  today: string,
): string => expiryMonthsAfter(today, -renewalGraceMonths).lastDay()

/** Whether an expired card can still be renewed or replaced today (`YYYY-MM-DD`). */
export const isWithinGrace = (card: CardWithGrace, today: string): boolean =>
  card.validUntil >= findGraceStart(card, today)

/**
 * The largest count of the cards that expire in a month, so that its cost does not grow with the
 * number of cards.
 */
export const expiringCardsMost = 20_000
