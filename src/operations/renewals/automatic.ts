import { addDays, formatDate } from '../../domain/calendar.ts'
import type { CardType, RenewalType } from '../../domain/product.ts'
import { renewalBounds, renewalNoticeDays } from '../../domain/product.ts'
import * as due from '../../storage/renewals/due.ts'
import { sweep } from '../cards/status.ts'
import { orderDueRenewal, type RenewalContext } from './order.ts'

/** The number of cards that are listed at a time. */
const stepSize = 100

/**
 * Gives the notices that are due, orders the automatic renewals that are due, and expires cards, in
 * this order. Several processes may do so at once.
 * @param stop ends it between two cards: the next sweep resumes there.
 * @throws AggregateError of the failures, after all other cards had their turn.
 */
export async function sweepCards(
  context: RenewalContext,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const faults: unknown[] = []
  const collect = (error: unknown): void => {
    faults.push(error)
  }
  // A card that fails must keep no other from its notice, its renewal or its expiry.
  await giveNotices(context, stop, collect).catch(collect)
  await renewAutomatically(context, stop, collect).catch(collect)
  await sweep(context, stop).catch(collect)
  if (faults.length > 0) {
    throw new AggregateError(faults, 'Some cards could not be swept.', { cause: faults[0] })
  }
}

/** Takes the failure of one card. */
type Collect = (error: unknown) => void

async function giveNotices(
  { database, now }: RenewalContext,
  stop: AbortSignal,
  collect: Collect,
): Promise<void> {
  const today = formatDate(now())
  for (const [noticesGiven, days] of renewalNoticeDays.entries()) {
    const until = addDays(today, days)
    let afterExpiryDate = '0001-01-01'
    let afterToken = ''
    while (!stop.aborted) {
      const notices = await due.listDueNotices(database, {
        noticesGiven,
        until,
        afterExpiryDate,
        afterToken,
        limit: stepSize,
      })
      for (const notice of notices) {
        if (stop.aborted) return
        await due.giveRenewalNotice(database, notice, noticesGiven, today).catch(collect)
        afterExpiryDate = notice.expiryDate
        afterToken = notice.publicToken
      }
      if (notices.length < stepSize) break
    }
  }
}

/** The cards of a product whose renewal the service orders from a day on. */
interface RenewedCards {
  readonly cardType: CardType
  /** The type of the card itself; empty: as the product says. */
  readonly renewalType: RenewalType | ''
  readonly leadDays: number
}

async function renewAutomatically(
  context: RenewalContext,
  stop: AbortSignal,
  collect: Collect,
): Promise<void> {
  for (const product of await due.listProductsToRenew(context.database)) {
    const types = product.renewalType === 'Automatic' ? (['', 'Automatic'] as const) : automatic
    for (const renewalType of types) {
      // A virtual card has nothing to produce: it is renewed on its last day.
      for (const [cardType, leadDays] of [
        ['Physical', product.renewalLeadDays],
        ['Virtual', 0],
      ] as const) {
        const cards = { cardType, renewalType, leadDays }
        await renewCards(context, product.productId, cards, stop, collect)
      }
    }
  }
}

const automatic = ['Automatic'] as const

async function renewCards(
  context: RenewalContext,
  productId: Parameters<typeof due.listCardsToRenew>[1]['productId'],
  { cardType, leadDays, renewalType }: RenewedCards,
  stop: AbortSignal,
  collect: Collect,
): Promise<void> {
  const { database, now } = context
  const until = addDays(formatDate(now()), leadDays)
  let afterValidUntil = '0001-01-01'
  let afterToken = ''
  while (!stop.aborted) {
    const cards = await due.listCardsToRenew(database, {
      productId,
      cardType,
      renewalType,
      until,
      afterValidUntil,
      afterToken,
      limit: stepSize,
    })
    for (const card of cards) {
      if (stop.aborted) return
      // A card that is refused is skipped, and listed again by the next sweep.
      await orderDueRenewal(context, card, null).catch(collect)
      afterValidUntil = card.validUntil
      afterToken = card.publicToken
    }
    if (cards.length < stepSize) return
  }
}

/**
 * Moves a clock over several days, and does what a sweep on each day would have done, in the order
 * of the days.
 * @param moveTo moves the clock of the context.
 */
export async function sweepDays(
  context: RenewalContext,
  { from, to }: { readonly from: Date; readonly to: Date },
  moveTo: (instant: Date) => void,
  stop: AbortSignal,
): Promise<void> {
  const { database } = context
  const products = await due.listProductsToRenew(database)
  const offsets = [
    ...new Set([...renewalNoticeDays, ...products.map((each) => each.renewalLeadDays), 0, -1]),
  ].sort((one, other) => other - one)
  const last = formatDate(to)
  let day = formatDate(from)
  while (!stop.aborted) {
    const next = await due.findNextExpiry(database)
    if (next === null) break
    // Before this day, nothing is due to any card.
    const quietUntil = addDays(next, -renewalBounds.leadDays.maximum - 1)
    if (quietUntil > day) day = quietUntil < last ? quietUntil : last
    if (day >= last) break
    day = findNextDay(day, offsets)
    if (day >= last) break
    moveTo(new Date(`${day}T00:00:00Z`))
    await sweepCards(context, stop)
  }
  if (!stop.aborted) moveTo(to)
  await sweepCards(context, stop)
}

/** Returns the first day after a day on which something can be due: cards expire with a month. */
function findNextDay(day: string, offsets: readonly number[]): string {
  for (let next = addDays(day, 1); ; next = addDays(next, 1)) {
    if (offsets.some((offset) => addDays(next, offset + 1).endsWith('-01'))) return next
  }
}
