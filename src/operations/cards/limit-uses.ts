import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import type { Limit } from '../../storage/cards/limits.ts'
import * as stored from '../../storage/cards/search.ts'
import { findClient } from '../../storage/clients/clients.ts'
import type { CardContext } from './cards.ts'
import { collectCardLimits, limitInUse } from './search.ts'

/** The used part of a limit on one card or one client, and when a use becomes free. */
interface UsedLimit {
  readonly limitName: string
  readonly allowed: number
  readonly used: number
  /** Null: until an unblock. */
  readonly windowSeconds: number | null
  /** 0 if a use is free; null if only an unblock frees one. */
  readonly freeInSeconds: number | null
}

/** A card's limits, used or not, with its tries, whose limit is the product's. */
interface CardLimits {
  readonly productId: number
  readonly limits: readonly UsedLimit[]
  readonly tries: readonly UsedLimit[]
}

/**
 * Returns the limits on a card of any client, and its tries. @throws `Problem` `card_not_found`.
 */
export async function findCardLimits(
  context: Pick<CardContext, 'database' | 'limits'>,
  publicToken: PublicToken,
): Promise<CardLimits> {
  const { database } = context
  const card = await stored.findCardOfAnyClient(database, publicToken)
  if (!card) throw new Problem('card_not_found')
  const rows = await stored.listCardLimits(database, card.lineToken)
  const describeTries = (limitName: string, limit: number, spent: number, restored: number) => {
    const used = Math.min(limit, spent - restored)
    const freeInSeconds = used < limit ? 0 : null
    return { limitName, allowed: limit, used, freeInSeconds, windowSeconds: null }
  }
  return {
    productId: card.productId,
    limits: describeUses([...collectCardLimits(context).values()], rows),
    tries: [
      describeTries('pin-tries', card.pinLimit, card.pinSpent, card.pinRestored),
      describeTries('cvv-tries', card.cvvLimit, card.cvvSpent, card.cvvRestored),
    ],
  }
}

/** Lists the limits of a client over all its cards. @throws `Problem` `not_found`. */
export async function listClientLimits(
  { database, limits }: Pick<CardContext, 'database' | 'limits'>,
  clientId: string,
): Promise<readonly UsedLimit[]> {
  if (!(await findClient(database, clientId))) throw new Problem('not_found')
  const all = [limits.reveals?.perClient, limits.badSessionKeys?.perClient]
  return describeUses(
    all.filter((limit) => !!limit),
    await stored.listClientLimits(database, clientId),
  )
}

const describeUses = (
  limits: readonly Limit[],
  rows: readonly stored.LimitInUse[],
): readonly UsedLimit[] =>
  limits.map((limit) => {
    const { limitName, uses, windowSeconds } = limit
    const row = rows.find((each) => each.limitName === limitName)
    const { freeInSeconds, used } = row ? limitInUse(row, limit) : { freeInSeconds: 0, used: 0 }
    return { limitName, allowed: uses, used, windowSeconds, freeInSeconds }
  })
