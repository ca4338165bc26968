import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The number of uses allowed within any period of this length. */
export interface Limit {
  readonly limitName: string
  /** The limited act, in the plural, as a caller reads it. */
  readonly purpose: string
  readonly uses: number
  readonly windowSeconds: number
}

/** A limit of each card, and one of its client over all cards. */
export interface CardAndClientLimit {
  readonly perCard: Limit
  readonly perClient: Limit
}

export type LimitKind = 'card' | 'client'

/** The maximum number of instants in a row. A limit with at most this many uses is exact. */
const instantsMost = 20

/** How the row of a limit counts its uses (database/functions/limits/next-uses.sql). */
interface UseCounting {
  /** How many uses an instant stands for. */
  readonly usesEach: number
  /** How many instants the row has at most. */
  readonly instants: number
  /** How many uses the newest instant stands for at most, while all others count. */
  readonly newestMost: number
}

/** Computes how the row of a limit counts: each use alone up to 20 uses, and in groups above. */
export function computeUseCounting({ uses }: Pick<Limit, 'uses'>): UseCounting {
  const usesEach = Math.ceil(uses / instantsMost)
  const instants = Math.ceil(uses / usesEach)
  return { usesEach, instants, newestMost: uses - (instants - 1) * usesEach }
}

/** A limit as the SQL functions take it; all members are null without a limit. */
export interface LimitValues {
  readonly limitName: string | null
  readonly uses: number | null
  readonly windowSeconds: number | null
}

/**
 * Converts a limit to the parameters of statements.
 * @param limit null without one.
 */
export const limitParameters = (limit: Limit | null): LimitValues => ({
  limitName: limit?.limitName ?? null,
  uses: limit?.uses ?? null,
  windowSeconds: limit?.windowSeconds ?? null,
})

const declare = loadStatements(import.meta.url)

/** A limit of a card or a client, as the statement that spends a use takes it. */
interface UsedLimit {
  readonly subject: string
  readonly limitName: string
  readonly uses: number
  readonly windowSeconds: number
}

const useCardLimit = declare<UsedLimit, { isUsed: boolean }>('use_card_limit')
const useClientLimit = declare<UsedLimit, { isUsed: boolean }>('use_client_limit')
const useByKind = { card: useCardLimit, client: useClientLimit }

/**
 * Spends one use of a limit on a card or a client, durably.
 * @returns whether one was left.
 */
export async function spendLimit(
  connection: Connection,
  kind: LimitKind,
  subject: string,
  { limitName, uses, windowSeconds }: Limit,
): Promise<boolean> {
  const rows = await useByKind[kind](connection, { subject, limitName, uses, windowSeconds })
  return firstRow(rows)?.isUsed ?? false
}

/** A limit with its card or client. */
export interface LimitOf {
  readonly kind: LimitKind
  readonly subject: string
  readonly limit: Limit
}

/** The parameters of several limits: a list of each value. */
interface LookedAtLimits {
  readonly kinds: readonly LimitKind[]
  readonly subjects: readonly string[]
  readonly limitNames: readonly string[]
  readonly instants: readonly number[]
  readonly newestMosts: readonly number[]
  /** In microseconds. */
  readonly windowLengths: readonly number[]
}

const selectUsedUp = declare<LookedAtLimits, { place: number; seconds: number }>(
  'find_used_up_limit',
)

/**
 * Reads limits without spending a use.
 * @returns the limit that has no use left for the longest time, and that time; null if all have
 *   one.
 */
export async function findUsedUpLimit(
  connection: Connection,
  limits: readonly LimitOf[],
): Promise<(LimitOf & { readonly seconds: number }) | null> {
  const countings = limits.map(({ limit }) => computeUseCounting(limit))
  const usedUp = firstRow(
    await selectUsedUp(connection, {
      kinds: limits.map(({ kind }) => kind),
      subjects: limits.map(({ subject }) => subject),
      limitNames: limits.map(({ limit }) => limit.limitName),
      instants: countings.map(({ instants }) => instants),
      newestMosts: countings.map(({ newestMost }) => newestMost),
      windowLengths: limits.map(({ limit }) => limit.windowSeconds * 1_000_000),
    }),
  )
  const limit = usedUp && limits[usedUp.place - 1]
  return limit ? { ...limit, seconds: Math.max(1, usedUp.seconds) } : null
}

const deleteCardLimits = declare<{ limit: number }, { count: number }>('delete_old_card_limits')
const deleteClientLimits = declare<{ limit: number }, { count: number }>('delete_old_client_limits')
const deleteByKind = { card: deleteCardLimits, client: deleteClientLimits }

/**
 * Deletes some of the rows whose uses no longer count.
 * @returns their number.
 */
export const expireLimits = async (
  connection: Connection,
  kind: LimitKind,
  limit: number,
): Promise<number> => firstRow(await deleteByKind[kind](connection, { limit }))?.count ?? 0
