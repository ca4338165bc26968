import type { TryKind } from '../../domain/tries.ts'
import { type Connection, firstRow, onKey, statement } from '../engine/database.ts'

/** A feed that has more than is entered of it. */
export interface GrownFeed {
  readonly clientId: string
  /** The last position that is entered, and the last that there is: digits. */
  readonly entered: string
  readonly last: string
}

const feedsStatement = statement(
  'list_feeds_to_enter',
  `select feed_head.client_id as "clientId", coalesce(position, 0)::text as "entered", last_position::text as "last"
   from feed_head left join audit_feed on audit_feed.client_id = feed_head.client_id
   where last_position > coalesce(position, 0) and feed_head.client_id > $1
   order by feed_head.client_id limit $2`,
)

/** Feeds that are to be entered, by their clients' ids, after one of them. */
export const listGrownFeeds = (
  connection: Connection,
  afterClientId: string,
  limit: number,
): Promise<GrownFeed[]> => connection.query(feedsStatement, [afterClientId, limit])

// To the microsecond, which a JavaScript date would lose.
const utc = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** An event as it is entered. */
export interface EventToEnter {
  readonly position: string
  readonly eventId: string
  readonly publicToken: string
  readonly sequence: number
  readonly type: string
  readonly at: string
  readonly details: string
  readonly requestId: string | null
}

const eventsStatement = statement(
  'list_events_to_enter',
  `select position::text as "position", event_id as "eventId", public_token as "publicToken", sequence, type,
     ${utc('occurred_at')} as "at", details, request_id as "requestId"
   from published_event
   where (client_id, position) > ($1, $2::bigint) and client_id <= $1
   order by published_event.client_id, published_event.position limit $3`,
)

/** Events of a feed that come after what is entered. */
export const listEventsToEnter = (
  connection: Connection,
  { clientId, entered }: GrownFeed,
  limit: number,
): Promise<EventToEnter[]> => connection.query(eventsStatement, [clientId, entered, limit])

const feedEnteredStatement = statement(
  'set_feeds_entered',
  `insert into audit_feed (client_id, position)
   select client_id, position from unnest($1::text[], $2::bigint[]) as given (client_id, position)
   on conflict (client_id) do update set position = excluded.position`,
)

/** Says how far feeds are entered. */
export async function setFeedsEntered(
  connection: Connection,
  feeds: readonly { readonly clientId: string; readonly position: string }[],
): Promise<void> {
  await connection.query(feedEnteredStatement, [
    feeds.map(({ clientId }) => clientId),
    feeds.map(({ position }) => position),
  ])
}

/** A try as it is entered. */
export interface AttemptToEnter {
  readonly publicToken: string
  readonly kind: TryKind
  readonly tryNumber: number
  readonly at: string
  readonly result: 'match' | 'mismatch' | 'unresolved'
  readonly remainingTries: number
  readonly entryMode: string
  readonly reference: string
}

/** How long a result may be waited for, in seconds: a try that is older was lost with its process. */
const resultSeconds = 35

const attemptKey = ['public_token', 'kind', 'try_number'] as const
// As a value of its own, which is looked up try by try, whatever the planner takes the tables for.
const resultOf = `(select max(result) from attempt
  where ${onKey('attempt', 'waiting', attemptKey)})`

const attemptsStatement = statement(
  'take_attempts_to_enter',
  `with waiting as materialized (
     select public_token, kind, try_number from attempt_to_enter as waiting
     where ${resultOf} <> 'unresolved' or spent_at < clock_timestamp() - interval '${resultSeconds} seconds'
     limit $1
   ), taken as (
     delete from attempt_to_enter using waiting where ${onKey('attempt_to_enter', 'waiting', attemptKey)}
     returning attempt_to_enter.public_token, attempt_to_enter.kind, attempt_to_enter.try_number
   )
   select attempt.public_token as "publicToken", attempt.kind, attempt.try_number as "tryNumber",
     ${utc('attempted_at')} as "at", result, remaining_tries as "remainingTries", entry_mode as "entryMode", reference
   from taken cross join lateral (
     select * from attempt where ${onKey('attempt', 'taken', attemptKey)} limit 1
   ) as attempt
   order by attempted_at, attempt.public_token, attempt.kind, attempt.try_number`,
)

/** Takes tries whose results are known, or will not come any more: they are entered in this transaction. */
export const takeAttemptsToEnter = (
  connection: Connection,
  limit: number,
): Promise<AttemptToEnter[]> => connection.query(attemptsStatement, [limit])

/** An act on a key or of administration as it is entered. */
export interface ActToEnter {
  readonly number: string
  readonly actId: string
  readonly at: string
  readonly act: string
  readonly subjectKind: string
  readonly subject: string
  readonly details: string
  readonly clientId: string | null
  readonly requestId: string | null
}

const actsStatement = statement(
  'list_acts_to_enter',
  `select number::text as "number", act_id as "actId", ${utc('acted_at')} as "at", act,
     subject_kind as "subjectKind", subject, details, client_id as "clientId", request_id as "requestId"
   from audit_act
   where number > (select position from audit_entered where source = 'acts')
   order by audit_act.number limit $1`,
)

/** The acts that come next, in the order of their numbers. */
export const listActsToEnter = (connection: Connection, limit: number): Promise<ActToEnter[]> =>
  connection.query(actsStatement, [limit])

const actsEnteredStatement = statement(
  'set_acts_entered',
  `update audit_entered set position = $1::bigint where source = 'acts'`,
)

/** Says how far the numbered acts are entered. */
export const setActsEntered = async (connection: Connection, number: string): Promise<void> => {
  await connection.query(actsEnteredStatement, [number])
}

/** A disclosure that was refused or failed, and how often, as it is entered. */
export interface RefusalToEnter {
  readonly entryId: string
  readonly clientId: string
  readonly publicToken: string | null
  readonly act: string
  readonly includesPin: boolean
  readonly device: string | null
  readonly outcome: 'refused' | 'failed'
  readonly reason: string
  readonly count: number
  readonly at: string
  readonly lastAt: string
  readonly requestId: string
}

const refusalsStatement = statement(
  'take_refusals_to_enter',
  `with over as materialized (
     select entry_id from refused_disclosure
     where minute < date_trunc('minute', clock_timestamp(), 'UTC') order by minute, entry_id limit $1
   )
   delete from refused_disclosure using over where ${onKey('refused_disclosure', 'over', ['entry_id'])}
   returning refused_disclosure.entry_id as "entryId", client_id as "clientId", public_token as "publicToken", act,
     includes_pin as "includesPin", device, outcome, reason, count::float8 as "count",
     ${utc('first_at')} as "at", ${utc('last_at')} as "lastAt", request_id as "requestId"`,
)

/** Takes refused and failed disclosures of minutes that are over: they are entered in this transaction. */
export const takeRefusalsToEnter = (
  connection: Connection,
  limit: number,
): Promise<RefusalToEnter[]> => connection.query(refusalsStatement, [limit])

const newsStatements = [
  statement(
    'has_feeds_to_enter',
    `select exists (
       select 1 from feed_head left join audit_feed on audit_feed.client_id = feed_head.client_id
       where last_position > coalesce(position, 0)
     ) as "isThere"`,
  ),
  statement('has_attempts_to_enter', `select exists (select 1 from attempt_to_enter) as "isThere"`),
  statement(
    'has_acts_to_enter',
    `select exists (
       select 1 from audit_act where number > (select position from audit_entered where source = 'acts')
     ) as "isThere"`,
  ),
  statement(
    'has_refusals_to_enter',
    `select exists (
       select 1 from refused_disclosure where minute < date_trunc('minute', clock_timestamp(), 'UTC')
     ) as "isThere"`,
  ),
]

/** Whether anything is to be entered, without a lock. */
export async function hasNews(connection: Connection): Promise<boolean> {
  for (const news of newsStatements) {
    if (firstRow(await connection.query<{ isThere: boolean }>(news))?.isThere) return true
  }
  return false
}
