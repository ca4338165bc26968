import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryCounters, TryKind } from '../../domain/tries.ts'
import {
  type Connection,
  type Database,
  firstRow,
  rowRead,
  type Statement,
  statement,
} from '../engine/database.ts'
import { changeWithEvent, eventValues, type NewEvent } from '../events/events.ts'

const triesRead = rowRead('find_tries', {
  columns: `try_counter.try_limit as "limit", try_counter.spent, try_counter.restored,
    try_counter.blocked_by_client as "blockedByClient"`,
  from: 'card join try_counter using (public_token)',
  key: { 'card.public_token': 'text', 'try_counter.kind': 'text', 'card.client_id': 'text' },
})

/** The tries of a client's card, or null. */
export const findTries = (
  database: Database,
  publicToken: PublicToken,
  kind: TryKind,
  clientId: string,
): Promise<TryCounters | null> => database.readRow(triesRead, [publicToken, kind, clientId])

const reportStatement = changeWithEvent('report_block', {
  alongside: `update try_counter set block_reported = true where public_token = $1 and kind = $6`,
})

/** Records that the tries of a card are used up, once in an epoch. */
export const reportBlock = async (
  connection: Connection,
  event: NewEvent,
  kind: TryKind,
): Promise<void> => {
  await connection.query(reportStatement, [...eventValues(event), kind])
}

/** Tries that are used up, and no event says so. */
export interface UnreportedBlock {
  readonly publicToken: PublicToken
  readonly kind: TryKind
}

const listBlocksStatement = statement(
  'list_unreported_blocks',
  `select public_token as "publicToken", kind from try_counter
   where spent - restored = try_limit and not block_reported
     and ($2::text is null or (public_token, kind) > ($2, $3))
     and not exists (
       select 1 from attempt
       where attempt.public_token = try_counter.public_token and attempt.kind = try_counter.kind
         and attempt.epoch = try_counter.epoch and attempt.result = 'unresolved'
         and not attempt.restored and attempt.attempted_at > now() - interval '30 seconds'
     )
   order by public_token, kind limit $1`,
)

/** Some of the blocks that a lost process did not live to record, by card. @param after null: the first. */
export const listUnreportedBlocks = (
  connection: Connection,
  after: UnreportedBlock | null,
  limit: number,
): Promise<UnreportedBlock[]> =>
  connection.query(listBlocksStatement, [limit, after?.publicToken ?? null, after?.kind ?? null])

/** How a value came to be tried. */
interface AttemptOrigin {
  readonly entryMode: string
  readonly reference: string
}

/** A try that was spent, and what was left then. */
export interface SpentTry {
  readonly publicToken: PublicToken
  readonly kind: TryKind
  readonly tryNumber: number
  readonly epoch: number
}

// The row's lock makes racing spends take turns, and each sees what the one before it left.
const spendStatement = statement(
  'spend_try',
  `with spent as (
     update try_counter set spent = spent + 1
     where public_token = $1 and kind = $2 and spent - restored < try_limit
     returning public_token, kind, spent, epoch, try_limit - (spent - restored) as remaining
   )
   insert into attempt (public_token, kind, try_number, epoch, remaining_tries, entry_mode, reference)
   select public_token, kind, spent, epoch, remaining, $3, $4 from spent
   returning public_token as "publicToken", kind, try_number as "tryNumber", epoch`,
)

/** Spends one try and puts it on record, in one statement, or does nothing when none is left. */
export const spendTry = async (
  connection: Connection,
  publicToken: PublicToken,
  kind: TryKind,
  { entryMode, reference }: AttemptOrigin,
): Promise<SpentTry | null> =>
  firstRow(await connection.query(spendStatement, [publicToken, kind, entryMode, reference]))

/** The counter of one kind, locked until the transaction ends. */
interface LockedCounter {
  readonly epoch: number
  readonly remaining: number
  readonly blockReported: boolean
}

// The card first, then its counter: the order in which every change of a card takes its locks.
const lockCardRowStatement = statement(
  'lock_card_row',
  'select public_token as "publicToken" from card where public_token = $1 for no key update',
)
const lockCounterStatement = statement(
  'lock_counter',
  `select epoch, try_limit - (spent - restored) as remaining, block_reported as "blockReported"
   from try_counter where public_token = $1 and kind = $2 for update`,
)

/** Locks a card and one of its counters, so that a result is settled by one request at a time. */
export async function lockCounter(
  connection: Connection,
  { kind, publicToken }: Pick<SpentTry, 'kind' | 'publicToken'>,
): Promise<LockedCounter> {
  await connection.query(lockCardRowStatement, [publicToken])
  const counter = firstRow<LockedCounter>(
    await connection.query(lockCounterStatement, [publicToken, kind]),
  )
  if (!counter) throw new Error('A card has no counter of its tries.')
  return counter
}

/** Gives back the tries of an epoch from one number to its own, each at most once. */
const restoreStatement = (name: string, fromNumber: string) =>
  statement(
    name,
    `with given_back as (
       update attempt set restored = true
       where public_token = $1 and kind = $2 and epoch = $3
         and try_number between ${fromNumber} and $4 and not restored
       returning try_number
     )
     update try_counter set restored = restored + (select count(*) from given_back)
     where public_token = $1 and kind = $2 and epoch = $3
     returning try_limit - (spent - restored) as remaining`,
  )

const restoreOneStatement = restoreStatement('restore_try', '$4')
// The match before it has given back all up to its own: a card is tried for years, and a match must
// not look at every attempt on record.
const restoreUpToStatement = restoreStatement(
  'restore_tries_up_to',
  `(
     select coalesce(max(try_number), 0) + 1 from attempt
     where public_token = $1 and kind = $2 and epoch = $3 and try_number < $4 and result = 'match'
   )`,
)

/** The counter is locked. @returns the tries that remain. */
const restoreWith =
  (restore: Statement) =>
  async (
    connection: Connection,
    { epoch, kind, publicToken, tryNumber }: SpentTry,
  ): Promise<number> => {
    const values = [publicToken, kind, epoch, tryNumber]
    const row = firstRow<{ remaining: number }>(await connection.query(restore, values))
    if (!row) throw new Error('A counter that was locked has changed.')
    return row.remaining
  }

/** Gives back every try up to and including this one, each at most once. */
export const restoreUpTo = restoreWith(restoreUpToStatement)

/** Gives back this try alone, at most once. */
export const restoreOne = restoreWith(restoreOneStatement)

const resolveStatement = statement(
  'resolve_attempt',
  `update attempt set result = $4, remaining_tries = $5
   where public_token = $1 and kind = $2 and try_number = $3`,
)

/** Puts the result of an attempt on record, and what remained after it. */
export const resolveAttempt = async (
  connection: Connection,
  { kind, publicToken, tryNumber }: SpentTry,
  result: 'match' | 'mismatch' | 'unresolved',
  remaining: number,
): Promise<void> => {
  await connection.query(resolveStatement, [publicToken, kind, tryNumber, result, remaining])
}

// An attempt older than 30 seconds was lost with its process: its try is spent, and it matches no more.
const pendingStatement = statement(
  'find_pending_attempt',
  `select try_number as "tryNumber" from attempt
   where public_token = $1 and kind = $2 and epoch = $3 and result = 'unresolved'
     and not restored and attempted_at > now() - interval '30 seconds'
   limit 1`,
)

/** Whether a try of this epoch may still turn out to match. */
export const isAttemptPending = async (
  connection: Connection,
  publicToken: PublicToken,
  kind: TryKind,
  epoch: number,
): Promise<boolean> =>
  (await connection.query(pendingStatement, [publicToken, kind, epoch])).length > 0

/** An attempt as it is listed: never the value tried. */
export interface AttemptRow {
  readonly at: Date
  readonly kind: TryKind
  readonly result: 'match' | 'mismatch' | 'unresolved'
  readonly remainingTries: number
  readonly entryMode: string
  readonly reference: string
  /** `at` with the microseconds that a JavaScript date would lose. */
  readonly position: string
  readonly tryNumber: number
}

/** Where a page of attempts ends: newest first. */
export interface AttemptPosition {
  readonly at: string
  readonly kind: TryKind
  readonly tryNumber: number
}

const listStatement = statement(
  'list_attempts',
  `select attempted_at as "at", kind, result, remaining_tries as "remainingTries",
     entry_mode as "entryMode", reference, try_number as "tryNumber",
     to_char(attempted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
   from attempt join card using (public_token)
   where public_token = $1 and client_id = $2
     and (attempted_at, kind, try_number) < ($3::timestamptz, $4::text, $5::integer)
   order by attempted_at desc, kind desc, try_number desc limit $6`,
)

/** Attempts on a client's card, newest first. */
export const findAttempts = (
  connection: Connection,
  publicToken: PublicToken,
  clientId: string,
  { after, limit }: { readonly after: AttemptPosition | null; readonly limit: number },
): Promise<AttemptRow[]> =>
  connection.query(listStatement, [
    publicToken,
    clientId,
    after?.at ?? 'infinity',
    after?.kind ?? '',
    after?.tryNumber ?? 0,
    limit,
  ])
