import { addDays, type Expiry, expiryMonthsAfter, toExpiry } from '../../domain/calendar.ts'
import {
  isClosed,
  isWithinGrace,
  type LifeStatus,
  lifeActs,
  type RenewStep,
} from '../../domain/card-life.ts'
import { Problem, validationFailed } from '../../domain/problem.ts'
import type { CardToRenew } from '../../storage/cards/renewals.ts'
import * as cards from './cards.ts'

/** An order of a plastic. */
export interface PlasticOrder {
  readonly step: RenewStep
  /** Of the new plastic; by default, the product's validity after the present expiry. */
  readonly expiry?: Expiry
}

/**
 * Refuses a renewal that the card does not allow on a day.
 * @param order `endsReprint`: a copy of the present plastic that waits does not refuse it. `today`:
 *   `YYYY-MM-DD`.
 * @throws `Problem` `card_closed`, `renewal_in_progress`.
 */
export function refuseRenewal(
  card: CardToRenew,
  status: LifeStatus,
  order: { readonly endsReprint: boolean; readonly today: string },
): void {
  const { waitingNumber } = card
  const { today } = order
  const { renew } = lifeActs[status]
  if (renew === 'no') throw cards.cardClosed(status)
  if (waitingNumber !== null && !isEndedByOrder(card, order)) {
    const detail =
      `Plastic ${waitingNumber} waits, with the expiry ${card.validUntil}. ` +
      'Migrate makes it current. To order another, cancel the renewal first.'
    throw new Problem('renewal_in_progress', { detail })
  }
  if (renew === 'within_grace' && !isWithinGrace(card, today)) {
    const detail = `The card expired after ${card.validUntil}, too long ago to be renewed.`
    throw new Problem('card_closed', { detail })
  }
}

/**
 * Returns the expiry of the new plastic.
 * @param today `YYYY-MM-DD`
 * @throws `Problem` `card_closed`, `renewal_not_due`; `validation_failed` for an expiry that the
 *   product does not allow.
 */
export function findExpiry(card: CardToRenew, renewal: PlasticOrder, today: string): Expiry {
  const { expiryDate, renewalEarliestDays, validityMonths } = card
  const present = toExpiry(expiryDate)
  if (renewal.step === 'RenewWithSameExpiry') {
    if (expiryDate >= today) return present
    throw new Problem('card_closed', { detail: 'An expired card needs a later expiry.' })
  }
  const earliest = addDays(expiryDate, -renewalEarliestDays)
  if (today < earliest) {
    throw new Problem('renewal_not_due', { detail: `It can be renewed from ${earliest} on.` })
  }
  // An expired card counts from today.
  const latest = expiryMonthsAfter(expiryDate >= today ? expiryDate : today, validityMonths)
  const { expiry = latest } = renewal
  const fault = findExpiryFault(expiry, { present, latest, today })
  if (fault !== null) throw validationFailed({ pointer: '/expiryDate', detail: fault })
  return expiry
}

/**
 * Returns the number of the next plastic.
 * @throws `Problem` `too_many_plastics`.
 */
export function findNextPlasticNumber({ lastPlasticNumber }: CardToRenew): number {
  if (lastPlasticNumber < plasticNumberMost) return lastPlasticNumber + 1
  throw new Problem('too_many_plastics')
}

/**
 * Returns the number of the plastic that a migration makes current.
 * @param today `YYYY-MM-DD`
 * @throws `Problem` `card_closed`, `nothing_to_migrate`.
 */
export function findMigrated(card: CardToRenew, status: LifeStatus, today: string): number {
  const { isPlasticInactive, plasticNumber, waitingDelivery, waitingNumber } = card
  if (waitingNumber === null && isPlasticInactive && status === '00') {
    refuseReturned(card)
    return plasticNumber
  }
  if (waitingNumber !== null && card.validUntil < today) throw cards.cardClosed('54')
  if (waitingNumber === null && isPlasticInactive) {
    const detail = `The card must be active (00) before plastic ${plasticNumber} is activated.`
    throw new Problem('nothing_to_migrate', { detail })
  }
  if (waitingNumber === null && lifeActs[status].renew === 'yes') {
    const detail = 'Order one first: Renew, or RenewWithSameExpiry for a copy.'
    throw new Problem('nothing_to_migrate', { detail })
  }
  if (waitingNumber === null) throw new Problem('nothing_to_migrate')
  if (waitingDelivery !== 'Returned') return waitingNumber
  const detail = `Plastic ${waitingNumber} was returned. Order another, which ends this one.`
  throw new Problem('nothing_to_migrate', { detail })
}

/**
 * Returns the number of the plastic that a cancellation ends.
 * @param cancellation `isNotReceived`: it was produced, and did not reach the cardholder.
 * @throws `Problem` `card_closed`, `nothing_to_migrate`, `renewal_produced`; `renewal_in_progress`
 *   if the card could not be renewed without the plastic.
 */
export function findCancelled(
  card: CardToRenew,
  { isNotReceived, today }: { readonly isNotReceived: boolean; readonly today: string },
): number {
  const { waitingNumber } = card
  if (waitingNumber === null) {
    refuseReturned(card)
    throw new Problem('nothing_to_migrate')
  }
  if (isOnItsWay(card) && !isNotReceived) {
    const detail =
      `Plastic ${waitingNumber} is ${card.waitingDelivery}. Migrate makes it current. ` +
      'If it was lost on its way, cancel it with notReceived.'
    throw new Problem('renewal_produced', { detail })
  }
  refuseNeededPlastic(card, waitingNumber, today)
  return waitingNumber
}

/**
 * Refuses an act on a current plastic that is not in the hands of its cardholder.
 * @throws `Problem` `nothing_to_migrate`.
 */
export function refuseReturned({
  deliveryStatus,
  plasticNumber,
}: Pick<CardToRenew, 'deliveryStatus' | 'plasticNumber'>): void {
  if (deliveryStatus !== 'Returned') return
  const detail = `Plastic ${plasticNumber} was returned. Order another: RenewWithSameExpiry.`
  throw new Problem('nothing_to_migrate', { detail })
}

/**
 * Refuses to activate the plastic of a converted card that was returned, or expired while the next
 * one waits.
 * @param today `YYYY-MM-DD`
 * @throws `Problem` `nothing_to_migrate`.
 */
export function refuseActivation(card: CardToRenew, today: string): void {
  const { expiryDate, plasticNumber, waitingNumber } = card
  if (expiryDate < today) {
    const detail =
      `Plastic ${plasticNumber} expired after ${expiryDate}. ` +
      `Plastic ${waitingNumber} waits: Migrate makes it current.`
    throw new Problem('nothing_to_migrate', { detail })
  }
  refuseReturned(card)
}

/**
 * Refuses to give a card plastic that has it, or cannot have it.
 * @throws `Problem` `card_closed`, `conversion_not_supported`, `card_status_conflict`.
 */
export function refuseConversion(card: CardToRenew, status: LifeStatus): void {
  if (isClosed(status)) throw cards.cardClosed(status)
  if (card.cardType === 'Physical') {
    throw new Problem('conversion_not_supported', { detail: 'The card is physical.' })
  }
  if (!card.productCardTypes.includes('Physical')) {
    const detail = 'The product of the card has no physical cards.'
    throw new Problem('conversion_not_supported', { detail })
  }
  if (lifeActs[status].convert === 'yes') return
  throw new Problem('card_status_conflict', { detail: 'Only an active card (00) is converted.' })
}

/** Whether the plastic that waits was made, and not returned. */
export const isOnItsWay = ({ waitingDelivery }: CardToRenew): boolean =>
  waitingDelivery !== 'Ordered' && waitingDelivery !== 'Returned'

/** Whether the plastic that waits ends with the order of another. */
function isEndedByOrder(
  { expiryDate, waitingDelivery, waitingExpiryDate }: CardToRenew,
  { endsReprint, today }: { readonly endsReprint: boolean; readonly today: string },
): boolean {
  if (waitingExpiryDate === null || waitingExpiryDate < today) return true
  if (waitingDelivery === 'Returned') return true
  const isReprint = endsReprint && waitingExpiryDate === expiryDate
  return isReprint && (waitingDelivery === 'Ordered' || waitingExpiryDate === today)
}

/** Refuses to cancel a plastic without which the card has expired too long ago to be renewed. */
function refuseNeededPlastic(card: CardToRenew, waitingNumber: number, today: string): void {
  const { expiryDate } = card
  if (isWithinGrace({ ...card, validUntil: expiryDate }, today)) return
  const detail =
    `The card expired after ${expiryDate} but for plastic ${waitingNumber}, ` +
    'too long ago to be renewed without it. If it was returned, order another. ' +
    'If it was lost, replace the card.'
  throw new Problem('renewal_in_progress', { detail })
}

function findExpiryFault(
  expiry: Expiry,
  { latest, present, today }: Readonly<Record<'present' | 'latest', Expiry>> & { today: string },
): string | null {
  if (expiry.yearMonth() <= present.yearMonth()) return `must be after ${present.yearMonth()}`
  if (expiry.lastDay() <= today) return 'must be in the future'
  if (expiry.yearMonth() <= latest.yearMonth()) return null
  return `must not be after ${latest.yearMonth()}, the product's validity`
}

/** The PAN sequence number of a chip has two digits. */
const plasticNumberMost = 99
