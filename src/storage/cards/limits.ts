import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** Uses allowed within any stretch of time of this length, whenever it begins. */
export interface Limit {
  readonly limitName: string
  /** What is limited, in the plural, as a caller reads it. */
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

/** Instants that a row keeps. A limit of no more uses is exact. */
const instantsMost = 20

/**
 * A limit as it is counted (database/functions/limits/next-uses.sql). Of more uses than a row keeps
 * instants, each instant stands for a few of them, and is that of the last: so never more uses than
 * allowed fit into any window, and none is refused while there were fewer than all but those few.
 */
export function limitValues({ limitName, uses, windowSeconds }: Limit) {
  const usesEach = Math.ceil(uses / instantsMost)
  const instants = Math.ceil(uses / usesEach)
  const newestMost = uses - (instants - 1) * usesEach
  return [limitName, usesEach, instants, newestMost, windowSeconds * 1_000_000] as const
}

/** A limit as SQL functions take it; all members are null without a limit. */
export interface LimitValues {
  readonly limitName: string | null
  readonly uses: number | null
  readonly windowSeconds: number | null
}

/** A limit as the statements of acts take it. @param limit null without one. */
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

/** Spends one use of a limit on a card or a client, durably. @returns whether one was left. */
export async function spendLimit(
  connection: Connection,
  kind: LimitKind,
  subject: string,
  { limitName, uses, windowSeconds }: Limit,
): Promise<boolean> {
  const rows = await useByKind[kind](connection, { subject, limitName, uses, windowSeconds })
  return firstRow(rows)?.isUsed ?? false
}

/** A limit, and the card or client that it is for. */
export interface LimitOf {
  readonly kind: LimitKind
  readonly subject: string
  readonly limit: Limit
}

/** The limits that are looked at: a list of each of their values. */
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
 * Looks at limits, and spends nothing.
 * @returns the one that has no use left for the longest time, and that time; null where each has
 *   one.
 */
export async function findUsedUpLimit(
  connection: Connection,
  limits: readonly LimitOf[],
): Promise<(LimitOf & { readonly seconds: number }) | null> {
  const values = limits.map(({ limit }) => limitValues(limit))
  const usedUp = firstRow(
    await selectUsedUp(connection, {
      kinds: limits.map(({ kind }) => kind),
      subjects: limits.map(({ subject }) => subject),
      limitNames: values.map(([limitName]) => limitName),
      instants: values.map(([, , instants]) => instants),
      newestMosts: values.map(([, , , newestMost]) => newestMost),
      windowLengths: values.map(([, , , , windowLength]) => windowLength),
    }),
  )
  const limit = usedUp && limits[usedUp.place - 1]
  return limit ? { ...limit, seconds: Math.max(1, usedUp.seconds) } : null
}

const deleteCardLimits = declare<{ limit: number }, { count: number }>('delete_old_card_limits')
const deleteClientLimits = declare<{ limit: number }, { count: number }>('delete_old_client_limits')
const deleteByKind = { card: deleteCardLimits, client: deleteClientLimits }

/** Deletes some of the rows whose uses count no longer. @returns how many. */
export const expireLimits = async (
  connection: Connection,
  kind: LimitKind,
  limit: number,
): Promise<number> => firstRow(await deleteByKind[kind](connection, { limit }))?.count ?? 0
