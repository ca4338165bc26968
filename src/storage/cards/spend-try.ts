import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryKind } from '../../domain/tries.ts'
import { type Connection, firstRow, statement } from '../engine/database.ts'
import { claimText, type NewClaim, onlyClaimValues } from '../idempotency/idempotency.ts'
import { clock } from './limits.ts'

/** A try that was spent. */
export interface SpentTry {
  readonly publicToken: PublicToken
  readonly kind: TryKind
  readonly tryNumber: number
  readonly epoch: number
  /** What was left then. */
  readonly remaining: number
}

/** What is tried. */
export interface NewTry {
  readonly publicToken: PublicToken
  readonly kind: TryKind
}

/** How a value came to be tried. */
export interface AttemptOrigin {
  readonly entryMode: string
  readonly reference: string
}

// Where nothing is outstanding, what stands there yet is of an epoch that ended.
const spending = (column: string, last: string, empty: string): string =>
  `${column} = case when spent = restored then ${empty} else try_counter.${column} end || ${last}`

/**
 * Spends one try and puts it on record, or does nothing where none is left, as two parts of a statement that has
 * `clock`: `spent` and `opened`. The row's lock makes racing spends take turns, and each sees what the one before
 * it left.
 * @param source must have one row, if a try is to be spent.
 * @param values how token, kind, entry mode and reference are written.
 */
export const spendText = (
  source: string,
  [publicToken, kind, entryMode, reference]: readonly [string, string, string, string],
): string =>
  `spent as (
     update try_counter set spent = spent + 1,
       ${spending('outstanding_tries', '(spent + 1)', "'{}'::integer[]")},
       ${spending('open_since', 'at', "'{}'::bigint[]")}
     from ${source}
     where try_counter.public_token = ${publicToken} and try_counter.kind = ${kind}
       and spent - restored < try_limit
     returning try_counter.public_token, try_counter.kind, spent, epoch,
       try_limit - (spent - restored) as remaining
   ), opened as (
     insert into attempt (public_token, kind, try_number, epoch, remaining_tries, entry_mode, reference)
     select public_token, kind, spent, epoch, remaining, ${entryMode}, ${reference} from spent
     returning public_token, kind, try_number, epoch, remaining_tries
   )`

/** A `SpentTry`, of `opened`. */
export const openedColumns = `opened.public_token as "publicToken", opened.kind,
  opened.try_number as "tryNumber", opened.epoch, opened.remaining_tries as "remaining"`

const ofParameters = ['$1', '$2', '$3', '$4'] as const

const spendStatement = statement(
  'spend_try',
  `with ${clock}, ${spendText('clock', ofParameters)} select ${openedColumns} from opened`,
)

/** Spends one try and puts it on record, or does nothing when none is left. */
export const spendTry = async (
  connection: Connection,
  { kind, publicToken }: NewTry,
  { entryMode, reference }: AttemptOrigin,
): Promise<SpentTry | null> =>
  firstRow(await connection.query(spendStatement, [publicToken, kind, entryMode, reference]))

const claimAndSpendStatement = statement(
  'claim_and_spend_try',
  `with claim as (${claimText(5)}), ${clock}, ${spendText('claim cross join clock', ofParameters)}
   select ${openedColumns} from claim left join opened on true`,
)

/**
 * Claims a request's key and spends one try under it, at once: the key commits with the spend, so that no repeat
 * ever spends again.
 * @returns the try, or null where none was left; null in the whole where the key was not free, and nothing was done.
 * @throws `LockTimeout` where another request has the key or the counter for too long.
 */
export const claimAndSpendTry = async (
  connection: Connection,
  claim: NewClaim,
  { kind, publicToken }: NewTry,
  { entryMode, reference }: AttemptOrigin,
): Promise<{ readonly spent: SpentTry | null } | null> => {
  const values = [publicToken, kind, entryMode, reference, ...onlyClaimValues(claim)]
  const row = firstRow(await connection.query<SpentTry | NoTry>(claimAndSpendStatement, values))
  return row && { spent: spentOf(row) }
}

/** Of a statement that spends a try beside something else, where none was left. */
export interface NoTry {
  readonly tryNumber: null
}

/** The try of such a statement. */
export const spentOf = (row: SpentTry | NoTry): SpentTry | null =>
  row.tryNumber === null ? null : row
