import { type Channel, nameLimit, type SpendingLimit } from '../../domain/controls.ts'
import { type ControlOwner, controlOwners } from '../../domain/decide-controls.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import * as spending from '../../domain/spending.ts'
import { findControlsInForce } from '../../storage/cards/controls.ts'
import { findCardOfAnyClient } from '../../storage/cards/search.ts'
import type { CardContext } from './cards.ts'

/** A spending limit in force for a card, and what the line of the card has used of it. */
interface UsedSpendingLimit {
  /** `limits.day`, `singleUse`. */
  readonly control: string
  readonly owner: ControlOwner
  readonly period: spending.Period
  readonly channel: Channel | null
  /** In the smallest unit of the currency. Null is no limit, and 0 allows nothing. */
  readonly maximumAmount: number | null
  readonly maximumCount: number | null
  /** 0 for the period `transaction`, which has no window. */
  readonly usedAmount: number
  readonly usedCount: number
  /** RFC 3339 in UTC. Null: never, or for each transaction. */
  readonly resetsAt: string | null
}

/** The limits of the cards of a line, and their spending. */
interface CardSpending {
  /** ISO 4217: of the product, and so of all limits. */
  readonly currency: string
  /** Of the days of the limits. */
  readonly timeZone: string
  readonly limits: readonly UsedSpendingLimit[]
}

/**
 * Returns the spending limits in force for a card of any client, those of its product first.
 * @throws `Problem` `card_not_found`.
 */
export async function findCardSpending(
  { database, now }: Pick<CardContext, 'database' | 'now'>,
  publicToken: PublicToken,
): Promise<CardSpending> {
  const card = await findCardOfAnyClient(database, publicToken)
  const found = card && (await findControlsInForce(database, publicToken, card.clientId))
  if (!found) throw new Problem('card_not_found')
  const { inForce } = found
  const { windows } = found.spending
  const timeZone = inForce.product?.timeZone ?? 'UTC'
  const day = spending.findDay(now(), timeZone)
  const limits = controlOwners.flatMap((owner) => {
    const rules = inForce[owner]
    const once = rules?.singleUse ? [singleUse] : []
    const named = (rules?.limits ?? []).map((limit) => ({ ...limit, control: nameLimit(limit) }))
    return [...named, ...once].map((limit) => ({
      ...limit,
      owner,
      ...findUse(windows, limit, { day, timeZone }),
    }))
  })
  return { currency: inForce.currency, timeZone, limits }
}

const singleUse = {
  control: 'singleUse',
  period: 'lifetime',
  channel: null,
  maximumAmount: null,
  maximumCount: 1,
} as const

/** Finds what was used of a limit in its present window, and when the window ends. */
function findUse(
  windows: spending.SpendingWindows,
  { channel, period }: Pick<SpendingLimit, 'channel' | 'period'>,
  { day, timeZone }: { readonly day: string; readonly timeZone: string },
): Pick<UsedSpendingLimit, 'resetsAt' | 'usedAmount' | 'usedCount'> {
  if (period === 'transaction') return { usedAmount: 0, usedCount: 0, resetsAt: null }
  const { amount, count } = spending.openWindow(windows, {
    window: channel === null ? period : `${period}.${channel}`,
    startsOn: spending.startWindow(period, day),
  })
  const next = spending.startNextWindow(period, day)
  return {
    usedAmount: amount,
    usedCount: count,
    resetsAt: next && spending.findStartOfDay(next, timeZone).toISOString(),
  }
}
