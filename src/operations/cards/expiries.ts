import { expiryMonthsAfter, formatDate } from '../../domain/calendar.ts'
import { expiringCardsMost } from '../../domain/card-life.ts'
import { countCardsExpiring } from '../../storage/cards/expiries.ts'
import type { CardContext } from './cards.ts'

/** The number of months that are counted, with the present one. */
const months = 12

/** The open cards that expire in a month. */
export interface ExpiringCards {
  /** `YYYY-MM` */
  readonly month: string
  /** At most `expiringCardsMost`. */
  readonly cards: number
}

/** Counts open cards by the month of their expiry, for the present month and the following ones. */
export async function countExpiries({
  database,
  now,
}: Pick<CardContext, 'database' | 'now'>): Promise<ExpiringCards[]> {
  const today = formatDate(now())
  const counted: ExpiringCards[] = []
  let from = today
  for (let ahead = 0; ahead < months; ahead += 1) {
    const expiry = expiryMonthsAfter(today, ahead)
    const until = expiry.lastDay()
    const cards = await countCardsExpiring(database, { from, until }, expiringCardsMost)
    counted.push({ month: expiry.yearMonth(), cards })
    from = formatDate(expiry.endsAt())
  }
  return counted
}
