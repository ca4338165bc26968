import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryCounters, TryKind } from '../../domain/tries.ts'
import { type Connection, type Database, rowOf, statement } from '../engine/database.ts'
import { rowRead } from '../engine/row-reads.ts'
import { clock } from './limits.ts'
import { isPending, lockedText } from './settle-try.ts'

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

/** Tries that are used up, and no event says so. */
export interface UnreportedBlock {
  readonly publicToken: PublicToken
  readonly kind: TryKind
}

const listBlocksStatement = statement(
  'list_unreported_blocks',
  `with ${clock}
   select public_token as "publicToken", kind from try_counter cross join clock
   where spent - restored = try_limit and not block_reported
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
  `with ${clock}, ${lockedText(null, true)}, due as materialized (
     select from was cross join clock
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
