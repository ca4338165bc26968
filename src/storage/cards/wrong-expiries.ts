import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow, onKey, statement } from '../engine/database.ts'
import { clock, dayMicroseconds, dayOf } from './limits.ts'
import { type NewAuthorizationRecord, recordText, recordValues } from './new-authorizations.ts'

/** Who gave a wrong expiry, of which card. */
export interface WrongExpiry {
  readonly publicToken: PublicToken
  /** The network client. */
  readonly networkId: string
}

/** How many wrong expiries are taken for mistakes, within any stretch of so many seconds. */
interface GuessingThreshold {
  readonly mistakes: number
  readonly windowSeconds: number
}

// Each is later than the one before it, so that the one that is reported differs from all others.
const givenAt = 'greatest(excluded.given_at[1], wrong_expiry.given_at[1] + 1)'

const countText = (beside: string): string =>
  `with ${clock}, counted as (
   insert into wrong_expiry (public_token, client_id, given_at, forget_on_day)
   select $1, $2, array[at], (at + $4::bigint) / ${dayMicroseconds} + 1 from clock
   on conflict (public_token, client_id) do update set
     given_at = ${givenAt} || wrong_expiry.given_at[1:$3::integer - 1],
     reported_at = case
       when wrong_expiry.given_at[$3::integer] > ${givenAt} - $4::bigint
         and coalesce(wrong_expiry.reported_at, 0) <= ${givenAt} - $4::bigint
       then ${givenAt} else wrong_expiry.reported_at end,
     forget_on_day = greatest(excluded.forget_on_day, wrong_expiry.forget_on_day)
   returning coalesce(reported_at = given_at[1], false) as is_to_report
   )${beside}
   select is_to_report as "isToReport" from counted`

const countStatement = statement('count_wrong_expiry', countText(''))
const countAndRecordStatement = statement(
  'count_wrong_expiry_and_record',
  countText(`, ${recordText({ first: 5, source: 'counted', publicToken: '$1' })}`),
)

/**
 * Counts a wrong expiry, in one row for each card and network.
 * @param record of its authorization, where nothing else puts that on record.
 * @returns whether it is to be reported: it is more than mistakes, and none was reported within the window.
 */
export const countWrongExpiry = async (
  connection: Connection,
  { networkId, publicToken }: WrongExpiry,
  { mistakes, windowSeconds }: GuessingThreshold,
  record: NewAuthorizationRecord | null,
): Promise<boolean> => {
  const values = [publicToken, networkId, mistakes, windowSeconds * 1_000_000]
  const rows = await connection.query<{ isToReport: boolean }>(
    record ? countAndRecordStatement : countStatement,
    record ? [...values, ...recordValues(record)] : values,
  )
  return firstRow(rows)?.isToReport ?? false
}

const pruneStatement = statement(
  'prune_wrong_expiries',
  `with old as materialized (
     select public_token, client_id from wrong_expiry
     where forget_on_day <= (select $1::integer) order by forget_on_day limit $2
   )
   delete from wrong_expiry using old
   where ${onKey('wrong_expiry', 'old', ['public_token', 'client_id'])}
     and forget_on_day - $1 <= 0
   returning wrong_expiry.public_token as "publicToken"`,
)

/** Forgets some of the rows in which nothing counted at an instant any more. @returns how many. */
export const pruneWrongExpiries = async (
  connection: Connection,
  at: Date,
  limit: number,
): Promise<number> => (await connection.query(pruneStatement, [dayOf(at), limit])).length
