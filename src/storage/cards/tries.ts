import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryCounters, TryKind } from '../../domain/tries.ts'
import { type Connection, type Database, rowRead, statement } from '../engine/database.ts'

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
