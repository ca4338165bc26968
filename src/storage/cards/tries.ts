import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryCounters, TryKind } from '../../domain/tries.ts'
import { type Connection, type Database, onKey, rowOf, statement } from '../engine/database.ts'
import { rowRead } from '../engine/shared-statements.ts'
import { clock } from './limits.ts'
import { isPending, lockedSelect } from './settle-try.ts'

const triesRead = rowRead('find_tries', {
  columns: `try_counter.try_limit as "limit", try_counter.spent, try_counter.restored,
    try_counter.blocked_by_client as "blockedByClient"`,
  key: ['text', 'text', 'text'],
  from: (publicToken, kind, clientId) => {
    const columns = 'try_limit, spent, restored, blocked_by_client'
    const key = { public_token: publicToken, kind }
    const card = { columns: 'client_id', key: { public_token: publicToken } }
    return `${rowOf('card', 'card', card)} cross join ${rowOf('try_counter', 'try_counter', { columns, key })}
      where card.client_id = ${clientId}`
  },
})

/** The tries of a client's card, or null. */
export const findTries = (
  database: Database,
  publicToken: PublicToken,
  kind: TryKind,
  clientId: string,
): Promise<TryCounters | null> => database.readRow(triesRead, [publicToken, kind, clientId])

/** An attempt as it is listed: never the value tried. */
export interface AttemptRow {
  readonly at: Date
  readonly kind: TryKind
  readonly result: 'match' | 'mismatch' | 'unresolved'
  readonly remainingTries: number
  readonly entryMode: string
  readonly reference: string
  readonly tryNumber: number
}

/** Where a page of attempts ends: of each kind, the next one has those of lower numbers. */
export type AttemptPosition = Readonly<Record<TryKind, number>>

/** Before all attempts. */
export const newestAttempt: AttemptPosition = { pin: 2_147_483_647, cvv: 2_147_483_647 }

/** The longest page, and one more that shows whether there is a next one. */
const attemptRowsMax = 101

// Through the primary key, so that no try writes to an index for the sake of this list. Two tries at once may have
// their times in the other order: then the later number stands where the earlier time does, and none is left out.
const scanText = (kind: TryKind, before: string): string => `
  select *, min(attempted_at) over (order by try_number desc) as listed_at from (
    select kind, try_number, attempted_at, result, remaining_tries, entry_mode, reference from attempt
    where public_token = any(array[$1])
      and (public_token, kind, try_number) < ($1, '${kind}', ${before}::integer)
      and (public_token, kind) >= ($1, '${kind}')
    order by attempt.public_token desc, attempt.kind desc, attempt.try_number desc limit ${attemptRowsMax}
  ) as scanned`

const listStatement = statement(
  'list_attempts',
  `select attempted_at as "at", kind, result, remaining_tries as "remainingTries",
     entry_mode as "entryMode", reference, try_number as "tryNumber"
   from ${rowOf('card', 'card', { columns: 'client_id', key: { public_token: '$1' } })}
   cross join (${scanText('pin', '$3')} union all ${scanText('cvv', '$4')}) as attempt
   where card.client_id = $2
   order by listed_at desc, kind desc, try_number desc limit $5`,
)

/** Attempts on a client's card, newest first. @param page its limit is at most {@link attemptRowsMax}. */
export const findAttempts = (
  connection: Connection,
  publicToken: PublicToken,
  clientId: string,
  { after, limit }: { readonly after: AttemptPosition | null; readonly limit: number },
): Promise<AttemptRow[]> => {
  const { cvv, pin } = after ?? newestAttempt
  return connection.query(listStatement, [publicToken, clientId, pin, cvv, limit])
}

const dayOf = "((attempted_at at time zone 'UTC')::date)"

const pruneStatement = statement(
  'prune_attempts',
  `with old as materialized (
     select public_token, kind, try_number from attempt
     where ${dayOf} < (select (now() at time zone 'UTC')::date - $1::integer)
     order by ${dayOf} limit $2
   )
   delete from attempt using old
   where ${onKey('attempt', 'old', ['public_token', 'kind', 'try_number'])}
     and now() - attempted_at > make_interval(days => $1)
     and (
       select attempt_to_enter.try_number from attempt_to_enter
       where attempt_to_enter.public_token = attempt.public_token
         and attempt_to_enter.kind = attempt.kind
         and attempt_to_enter.try_number = attempt.try_number
     ) is null
   returning attempt.try_number`,
)

/** Forgets some of the attempts that are older than so many days and entered in the audit log. @returns how many. */
export const pruneAttempts = async (
  connection: Connection,
  days: number,
  limit: number,
): Promise<number> => (await connection.query(pruneStatement, [days, limit])).length

/** Tries that are used up, and no event says so. */
export interface UnreportedBlock {
  readonly publicToken: PublicToken
  readonly kind: TryKind
}

const listBlocksStatement = statement(
  'list_unreported_blocks',
  `with ${clock}
   select public_token as "publicToken", kind from try_counter cross join clock
   where is_unreported_block
     and ($2::text is null or (public_token, kind) > ($2, $3))
     and not ${isPending('open_since')}
   order by public_token, kind limit $1`,
)

/** Some of the blocks that a lost process did not live to record, by card. @param after null: the first. */
export const listUnreportedBlocks = (
  connection: Connection,
  after: UnreportedBlock | null,
  limit: number,
): Promise<UnreportedBlock[]> =>
  connection.query(listBlocksStatement, [limit, after?.publicToken ?? null, after?.kind ?? null])

// Another process may have recorded it by now, or an unblock undone it: it is looked at again under its lock.
const reportStatement = statement(
  'report_lost_block',
  `with ${clock}, locked as materialized (${lockedSelect(true)}), due as materialized (
     select 1 as one from locked cross join clock
     where spent - restored = try_limit and not block_reported and not ${isPending('open_since')}
   ), reported as (
     update try_counter set block_reported = true from due
     where public_token = $1 and kind = $2
     returning kind
   ), numbered as (
     update card set last_sequence = last_sequence + 1 from reported
     where public_token = $1
     returning public_token, last_sequence, client_id, kind
   )
   insert into event (public_token, sequence, client_id, type, details)
   select public_token, last_sequence, client_id, kind || '.blocked',
     json_build_object('blockedBy', 'tries')
   from numbered`,
)

/** Records that the tries of a card are used up, once in an epoch, unless one of them may still match. */
export const reportLostBlock = async (
  connection: Connection,
  { kind, publicToken }: UnreportedBlock,
): Promise<void> => {
  await connection.query(reportStatement, [publicToken, kind])
}
