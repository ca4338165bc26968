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

const tables = {
  card: { table: 'card_limit', subject: 'public_token' },
  client: { table: 'client_limit', subject: 'client_id' },
} as const

/** Instants that a row keeps. A limit of no more uses is exact. */
const instantsMost = 20

/**
 * A limit as its statements take it. Of more uses than a row keeps instants, each instant stands for a few of
 * them, and is that of the last: so never more uses than allowed fit into any window, and none is refused while
 * there were fewer than all but those few.
 */
export function limitValues({ limitName, uses, windowSeconds }: Limit) {
  const usesEach = Math.ceil(uses / instantsMost)
  const instants = Math.ceil(uses / usesEach)
  const newestMost = uses - (instants - 1) * usesEach
  return [limitName, usesEach, instants, newestMost, windowSeconds * 1_000_000] as const
}

/** The types of `limitValues`. */
export const limitTypes = ['text', 'integer', 'integer', 'integer', 'bigint'] as const

const dayMicroseconds = 86_400_000_000

/** The day of an instant, counted from 1970. */
export const dayOf = (at: Date): number => Math.floor((at.getTime() * 1_000) / dayMicroseconds)

/** The instant of a use, in microseconds: whole numbers, so that all that is reckoned with them is immutable. */
export const clock = `clock as materialized (
  select (extract(epoch from clock_timestamp()) * 1000000)::bigint as at
)`

/**
 * Spends uses in a row for each subject, or changes nothing where so many are not left. It returns the subjects that had
 * them, and hangs on `clock`.
 * @param source has a row for each subject.
 * @param first number of the first of the limit's five parameters.
 * @param uses how many at once, as SQL over the source. More than an instant stands for are never had at once.
 */
export function useStatement(kind: LimitKind, source: string, first: number, uses = '1'): string {
  const { subject, table } = tables[kind]
  const [name, usesEach, instants, newestMost, window] = limitTypes.map(
    (type, at) => `$${first + at}::${type}`,
  )
  const old = `${table}.last_uses`
  const counts = (place: string): string =>
    `(${old}[${place}] is not null and ${old}[${place}] > excluded.last_uses[1] - ${window})`
  const together = `(${table}.newest_uses + excluded.newest_uses)`
  // All join the newest instant, or some of them fill it and the others begin the next, or all of them begin one.
  const joins = `${counts('1')} and ${together} <= ${usesEach}`
  const fills = `${counts('1')} and ${table}.newest_uses < ${usesEach}`
  const newest = `case when ${joins} then ${together} when ${fills} then ${together} - ${usesEach}
    else excluded.newest_uses end`
  // Of two that race the one that waited may have read the clock first: instants never go back.
  const at = `greatest(excluded.last_uses[1], ${old}[1])`
  return `insert into ${table} (${subject}, limit_name, last_uses, newest_uses, forget_on_day)
    select ${source}.${subject}, ${name}, array[at], ${uses}, (at + ${window}) / ${dayMicroseconds} + 1
    from ${source} cross join clock where ${uses} <= ${usesEach}
    on conflict (${subject}, limit_name) do update set
      last_uses = case when ${joins} then ${at} || ${old}[2:${instants}]
        when ${fills} then array[${at}, ${at}] || ${old}[2:${instants} - 1]
        else ${at} || ${old}[1:${instants} - 1] end,
      newest_uses = ${newest},
      forget_on_day = greatest(excluded.forget_on_day, ${table}.forget_on_day)
    where case when ${joins} then not ${counts(instants ?? '')} or ${together} <= ${newestMost}
      else not ${counts(instants ?? '')}
        and (not ${counts(`${instants} - 1`)} or ${newest} <= ${newestMost}) end
    returning ${subject}`
}

/**
 * Whether a row has no use left, by what a statement sees before it locks it: where many are refused, none of them
 * has anything written to be undone. Hangs on `clock`; parameters as in {@link useStatement}.
 * @param whose the subject, as SQL.
 */
export const isUsedUp = (kind: LimitKind, whose: string, first: number): string => {
  const { subject, table } = tables[kind]
  const instants = `$${first + 2}::integer`
  return `exists (
    select 1 from ${table} cross join clock where ${subject} = ${whose} and limit_name = $${first}::text
      and last_uses[${instants}] > at - $${first + 4}::bigint and newest_uses >= $${first + 3}::integer
  )`
}

const declare = loadStatements(import.meta.url)

/** A limit of a card or a client, as the statement that spends a use takes it. */
interface SpentLimit {
  readonly subject: string
  readonly limitName: string
  readonly usesEach: number
  readonly instants: number
  readonly newestMost: number
  /** In microseconds. */
  readonly windowLength: number
}

const spendOfCard = declare<SpentLimit>('spend_card_limit')
const spendOfClient = declare<SpentLimit>('spend_client_limit')
const spendOf = { card: spendOfCard, client: spendOfClient }

/** Spends one use of a limit on a card or a client, durably. @returns whether one was left. */
export const spendLimit = async (
  connection: Connection,
  kind: LimitKind,
  subject: string,
  limit: Limit,
): Promise<boolean> => {
  const [limitName, usesEach, instants, newestMost, windowLength] = limitValues(limit)
  const spent = { subject, limitName, usesEach, instants, newestMost, windowLength }
  return (await spendOf[kind](connection, spent)).length === 1
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
 * @returns the one that has no use left for the longest time, and that time; null where each has one.
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

const deleteOfCards = declare<{ limit: number }, { count: number }>('delete_old_card_limits')
const deleteOfClients = declare<{ limit: number }, { count: number }>('delete_old_client_limits')
const deleteOf = { card: deleteOfCards, client: deleteOfClients }

/** Deletes some of the rows whose uses count no more. @returns how many. */
export const pruneLimits = async (
  connection: Connection,
  kind: LimitKind,
  limit: number,
): Promise<number> => firstRow(await deleteOf[kind](connection, { limit }))?.count ?? 0
