import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryKind } from '../../domain/tries.ts'
import type { Database, SharedStatement, SqlScalar } from '../engine/database.ts'
import { isNotNullViolation } from '../engine/database.ts'
import { sharedChange } from '../engine/shared-statements.ts'
import {
  type Claim,
  claimOf,
  claimTypes,
  claimValues,
  withClaim,
} from '../idempotency/idempotency.ts'
import { originalOf, originalTypes, originalValues } from '../links/transactions.ts'
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

/** How a value came to be tried, by which card network and in which request. */
export interface AttemptOrigin {
  readonly entryMode: string
  readonly reference: string
  readonly networkId: string
  readonly requestId: string
}

const originTypes = ['text', 'text', 'text', 'text'] as const

export const originValues = ({ entryMode, networkId, reference, requestId }: AttemptOrigin) =>
  [entryMode, reference, networkId, requestId] as const

// Where nothing is outstanding, what stands there yet is of an epoch that ended.
const spending = (column: string, last: string, empty: string): string =>
  `${column} = case when spent = restored then ${empty} else try_counter.${column} end || ${last}`

interface SpendParts {
  /** Has one row, if a try is to be spent. */
  readonly source: string
  /** How token, kind and the origin's values are written. */
  readonly values: readonly string[]
  readonly carried?: string
}

/**
 * Spends one try and puts it on record, or does nothing where none is left, as parts of a statement that has
 * `clock`: `spent`, `opened` and what notes it for the audit log. The row's lock makes racing spends take turns, and each sees what the one before
 * it left.
 */
export const spendText = ({
  carried = '',
  source,
  values: [publicToken, kind, entryMode, reference, networkId, requestId],
}: SpendParts): string =>
  `spent as (
     update try_counter set spent = spent + 1,
       ${spending('outstanding_tries', '(spent + 1)', "'{}'::integer[]")},
       ${spending('open_since', 'at', "'{}'::bigint[]")}
     from ${source}
     where try_counter.public_token = any(array[${publicToken}]) and try_counter.kind = ${kind}
       and spent - restored < try_limit
     returning try_counter.public_token, try_counter.kind, spent, epoch,
       try_limit - (spent - restored) as remaining ${carried}
   ), opened as (
     insert into attempt (public_token, kind, try_number, epoch, remaining_tries, entry_mode, reference)
     select public_token, kind, spent, epoch, remaining, ${entryMode}, ${reference} from spent
     returning public_token, kind, try_number, epoch, remaining_tries
   ), to_enter as (
     insert into attempt_to_enter (public_token, kind, try_number, network_id, request_id)
     select public_token, kind, spent, ${networkId}, ${requestId} from spent
   )`

/** A `SpentTry`, of `opened`. */
export const openedColumns = `opened.public_token as "publicToken", opened.kind,
  opened.try_number as "tryNumber", opened.epoch, opened.remaining_tries as "remaining"`

type Keying = 'plain' | 'keyed' | 'keyed original'

// Locks go counter, original, key.
const declareSpend = (name: string, keying: Keying): SharedStatement => {
  const isKeyed = keying !== 'plain'
  const hasOriginal = keying === 'keyed original'
  const asking = hasOriginal ? 'unreversed' : 'locked'
  return sharedChange(name, {
    types: [
      'text',
      'text',
      ...originTypes,
      ...(isKeyed ? claimTypes : []),
      ...(hasOriginal ? originalTypes : []),
    ],
    text: ({ answered, carried, lock }) => {
      const asked = isKeyed ? `${asking} ${withClaim(7)}` : asking
      const source = `${asked} cross join clock`
      return `${clock},
        ${lock(`select 1 as one from try_counter where public_token = any(array[$1]) and kind = $2
          limit 1 for no key update`)},
        ${hasOriginal ? `${originalOf(12, 'locked', '$7')},` : ''}
        ${isKeyed ? `${claimOf(7, asking)},` : ''}
        ${spendText({ source, values: ['$1', '$2', '$3', '$4', '$5', '$6'], carried })}
        select ${answered(asking)}, ${openedColumns}
        from ${asked} left join opened on opened.public_token = $1 and opened.kind = $2`
    },
  })
}

const plainSpend = declareSpend('spend_try', 'plain')
const keyedSpend = declareSpend('claim_and_spend_try', 'keyed')
const originalSpend = declareSpend('claim_original_and_spend_try', 'keyed original')

/** Which of them a claim needs, and what it takes beside the try. */
function spendUnder(claim: Claim | null): readonly [SharedStatement, readonly SqlScalar[]] {
  if (!claim) return [plainSpend, []]
  const values = claimValues(claim)
  const { original } = claim
  return original ? [originalSpend, [...values, ...originalValues(original)]] : [keyedSpend, values]
}

/**
 * Spends one try and puts it on record, or does nothing when none is left. Under a claim its key commits with the
 * spend, so that no repeat ever spends again.
 * @returns the try, or null where none was left; null in the whole where the key was not free or the claim's original
 * is reversed, and nothing was done.
 * @throws `LockTimeout` where another request has the key or the counter for too long.
 */
export async function spendTry(
  database: Database,
  { kind, publicToken }: NewTry,
  origin: AttemptOrigin,
  claim: Claim | null,
): Promise<{ readonly spent: SpentTry | null } | null> {
  const [change, values] = spendUnder(claim)
  try {
    const row = await database.change<SpentTry | NoTry>(change, `${kind} ${publicToken}`, [
      publicToken,
      kind,
      ...originValues(origin),
      ...values,
    ])
    return row && { spent: spentOf(row) }
  } catch (error) {
    if (isNotNullViolation(error)) return null
    throw error
  }
}

/** Of a statement that spends a try beside something else, where none was left. */
export interface NoTry {
  readonly tryNumber: null
}

/** The try of such a statement. */
export const spentOf = (row: SpentTry | NoTry): SpentTry | null =>
  row.tryNumber === null ? null : row
