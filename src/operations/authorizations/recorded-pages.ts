import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RecordedDecision } from '../../domain/back-test.ts'
import type { Merchant } from '../../domain/merchant.ts'
import { validationFailed } from '../../domain/problem.ts'
import * as stored from '../../storage/authorizations/decided-again.ts'

/** A period, from its beginning until before its end. */
export interface Period {
  readonly from: Date
  readonly to: Date
}

/** The most authorizations and the most cards that are read, and the end of the reading. */
export interface ReadingBounds {
  /** Aborted when the caller has gone. */
  readonly gone: AbortSignal
  readonly authorizationsMost?: number
  readonly cardsMost?: number
}

/** The sums of a card stay in memory until the end: this many take about a hundred megabytes. */
const usualMost = { authorizationsMost: 1_000_000, cardsMost: 250_000 }

/** Counts what is read. */
export interface Reading {
  /**
   * Adds a page.
   * @throws `Problem` `validation_failed` if more was read than allowed; the reason of the signal
   *   if the caller has gone.
   */
  note(authorizations: number, newCards: number): void
}

/** Begins to count what is read. Without other bounds, those of `usualMost` hold. */
export function countReading({ gone, ...given }: ReadingBounds): Reading {
  const { authorizationsMost, cardsMost } = { ...usualMost, ...given }
  let authorizations = 0
  let cards = 0
  const refuse = (most: number, read: string) => {
    const detail = `begins a period with more than ${most.toLocaleString('en')} ${read}`
    return validationFailed({ pointer: '/from', detail })
  }
  return {
    note(more, newCards) {
      gone.throwIfAborted()
      authorizations += more
      cards += newCards
      if (authorizations > authorizationsMost) throw refuse(authorizationsMost, 'authorizations')
      if (cards > cardsMost) throw refuse(cardsMost, 'cards')
    },
  }
}

/** Returns the ids of a period. @throws `Problem` `validation_failed` if it is empty. */
export function toIdRange({ from, to }: Period): stored.IdRange {
  if (to <= from) throw validationFailed({ pointer: '/to', detail: 'must be after from' })
  return { after: toFirstId(from), until: toFirstId(to) }
}

/** Returns a UUID before those of version 7 of an instant or a later one (RFC 9562, 5.7). */
export function toFirstId(at: Date): string {
  const time = Math.max(0, at.getTime()).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}

/** Reads pages, and asks for the next one before the last one is used. */
export async function* readPages(
  list: (range: stored.IdRange) => Promise<stored.DecidedRow[]>,
  { after, until }: stored.IdRange,
): AsyncGenerator<readonly stored.DecidedRow[]> {
  let next = list({ after, until })
  for (let isLast = false; !isLast; ) {
    const page = await next
    const last = page[stored.decidedPage - 1]
    isLast = !last
    if (last) {
      next = list({ after: last.authorizationId, until })
      // A reader that stops here does not wait for it.
      next.catch(() => undefined)
    }
    yield page
    // Other calls go on between two pages.
    await nextTurn()
  }
}

/** Describes a recorded authorization as controls see it. */
export function toRecordedDecision(row: stored.DecidedRow): RecordedDecision {
  const { amount, authorizationId, categoryCode, country, currency, merchantId } = row
  const merchant: Merchant = {
    ...(merchantId !== null && { id: merchantId }),
    ...(categoryCode !== null && { categoryCode }),
    ...(country !== null && { country }),
  }
  return {
    publicToken: row.publicToken,
    authorizationId,
    // The id begins with the time of the arrival.
    at: new Date(Number.parseInt(authorizationId.slice(0, 8) + authorizationId.slice(9, 13), 16)),
    transaction: {
      entryMode: row.entryMode,
      transactionType: row.transactionType,
      cashCharge: row.cashCharge,
      money: amount === null || currency === null ? null : { amount, currency },
      merchant,
    },
    responseCode: row.responseCode,
    approvedAmount: row.approvedAmount,
    control: row.control,
  }
}
