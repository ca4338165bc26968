import type { EventType } from '../../domain/event-type.ts'
import type { TryKind } from '../../domain/tries.ts'
import { type Connection, firstRow, onKey, statement } from '../engine/database.ts'

// All rows as one value: that costs a driver a fraction of what so many rows do.
const together = (select: string): string =>
  `select coalesce(json_agg(listed), '[]') as "rows" from (${select}) as listed`

async function rowsOf<Row>(answered: Promise<{ readonly rows: readonly Row[] }[]>) {
  return firstRow(await answered)?.rows ?? []
}

// To the microsecond, which a JavaScript date would lose.
const utc = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

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

/** An event as it is entered. */
export interface EventToEnter {
  readonly position: string
  readonly eventId: string
  readonly clientId: string
  readonly publicToken: string
  readonly sequence: number
  readonly type: EventType
  readonly at: string
  readonly details: string
  readonly requestId: string | null
  /** Null where it was not an operator who acted on the client's card. */
  readonly operatorId: string | null
}

const eventsText = (clientId: string, entered: string, limit: string): string => `
  select position::text as "position", event_id as "eventId", client_id as "clientId", public_token as "publicToken",
    sequence, type, ${utc('occurred_at')} as "at", details, request_id as "requestId",
    operator_id as "operatorId"
  from published_event
  where (client_id, position) > (${clientId}, ${entered}) and client_id <= ${clientId}
  order by published_event.client_id, published_event.position limit ${limit}`

const eventsStatement = statement(
  'list_events_to_enter',
  together(`select event.* from unnest($1::text[], $2::bigint[]) with ordinality as feed (client_id, entered, ordinal)
    cross join lateral (${eventsText('feed.client_id', 'feed.entered', '$3')}) as event
    order by feed.ordinal, event.position::bigint`),
)
// A cluster finds no rows of many clients beside a list of them.
const eventsOfOneStatement = statement(
  'list_events_to_enter_of_one',
  together(eventsText('$1', '$2::bigint', '$3')),
)

/** Events of feeds that come after what is entered, so many of each feed at most, feed by feed in their order. */
export async function listEventsToEnter(
  connection: Connection,
  feeds: readonly GrownFeed[],
  { isCluster, limit }: { readonly isCluster: boolean; readonly limit: number },
): Promise<readonly EventToEnter[]> {
  if (!isCluster) {
    const [clientIds, entered] = [feeds.map((f) => f.clientId), feeds.map((f) => f.entered)]
    return rowsOf<EventToEnter>(connection.query(eventsStatement, [clientIds, entered, limit]))
  }
  const events: EventToEnter[] = []
  for (const { clientId, entered } of feeds) {
    const values = [clientId, entered, limit]
    events.push(...(await rowsOf<EventToEnter>(connection.query(eventsOfOneStatement, values))))
  }
  return events
}

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
  readonly networkId: string
  readonly requestId: string
  readonly at: string
  readonly result: 'match' | 'mismatch' | 'unresolved'
  readonly remainingTries: number
  readonly entryMode: string
  readonly reference: string
}

/** How long a result may be waited for, in seconds: a try that is older was lost with its process. */
const resultSeconds = 35

const attemptKey = ['public_token', 'kind', 'try_number'] as const
const ofAttempt = (table: string): string =>
  attemptKey.map((column) => `attempt.${column} = ${table}.${column}`).join(' and ')

// Whether a result is there is a value of its own, which is looked up try by try whatever the planner takes the
// tables for. A cluster takes neither an aggregate in it nor a limit in a lateral subquery.
const attemptsStatement = statement(
  'take_attempts_to_enter',
  `with waiting as materialized (
     select public_token, kind, try_number from attempt_to_enter
     where (
       select result <> 'unresolved'
         or attempted_at < clock_timestamp() - interval '${resultSeconds} seconds'
       from attempt where ${ofAttempt('attempt_to_enter')}
     )
     limit $1
   ), taken as (
     delete from attempt_to_enter using waiting where ${onKey('attempt_to_enter', 'waiting', attemptKey)}
     returning attempt_to_enter.*
   )
   ${together(`select taken.public_token as "publicToken", taken.kind, taken.try_number as "tryNumber",
       network_id as "networkId", request_id as "requestId", ${utc('attempted_at')} as "at", result,
       remaining_tries as "remainingTries", entry_mode as "entryMode", reference
     from taken join attempt on ${onKey('attempt', 'taken', attemptKey)}
     order by attempted_at, taken.public_token, taken.kind, taken.try_number`)}`,
)

/** Takes tries whose results are known, or will not come any more: they are entered in this transaction. */
export const takeAttemptsToEnter = (
  connection: Connection,
  limit: number,
): Promise<readonly AttemptToEnter[]> => rowsOf(connection.query(attemptsStatement, [limit]))

/** An act on a key or of administration as it is entered. */
interface ActToEnter {
  readonly number: number
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
  together(`select number, act_id as "actId", ${utc('acted_at')} as "at", act, subject_kind as "subjectKind",
      subject, details, client_id as "clientId", request_id as "requestId"
    from audit_act
    where number > (select position from audit_entered where source = 'acts')
    order by number limit $1`),
)

/** The acts that come next, in the order of their numbers. */
export const listActsToEnter = (
  connection: Connection,
  limit: number,
): Promise<readonly ActToEnter[]> => rowsOf(connection.query(actsStatement, [limit]))

const actsEnteredStatement = statement(
  'set_acts_entered',
  `update audit_entered set position = $1::bigint where source = 'acts'`,
)

/** Says how far the numbered acts are entered. */
export const setActsEntered = async (connection: Connection, number: number): Promise<void> => {
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

const isMinuteOver = `minute < (select date_trunc('minute', clock_timestamp(), 'UTC'))`

const refusalsStatement = statement(
  'take_refusals_to_enter',
  `with over as materialized (
     select entry_id from refused_disclosure where ${isMinuteOver} order by minute, entry_id limit $1
   ), taken as (
     delete from refused_disclosure using over where ${onKey('refused_disclosure', 'over', ['entry_id'])}
     returning refused_disclosure.*
   )
   ${together(`select entry_id as "entryId", client_id as "clientId", public_token as "publicToken", act,
       includes_pin as "includesPin", device, outcome, reason, count, ${utc('first_at')} as "at",
       ${utc('last_at')} as "lastAt", request_id as "requestId"
     from taken order by first_at, entry_id`)}`,
)

/** Takes refused and failed disclosures of minutes that are over: they are entered in this transaction. */
export const takeRefusalsToEnter = (
  connection: Connection,
  limit: number,
): Promise<readonly RefusalToEnter[]> => rowsOf(connection.query(refusalsStatement, [limit]))

const newsStatements = [
  statement(
    'has_feeds_to_enter',
    `select 1 as one from feed_head left join audit_feed on audit_feed.client_id = feed_head.client_id
     where last_position > coalesce(position, 0) limit 1`,
  ),
  statement('has_attempts_to_enter', 'select 1 as one from attempt_to_enter limit 1'),
  statement(
    'has_acts_to_enter',
    `select 1 as one from audit_act
     where number > (select position from audit_entered where source = 'acts') limit 1`,
  ),
  statement(
    'has_refusals_to_enter',
    `select 1 as one from refused_disclosure where ${isMinuteOver} limit 1`,
  ),
]

/** Whether anything is to be entered, without a lock. */
export async function hasNews(connection: Connection): Promise<boolean> {
  for (const news of newsStatements) {
    if ((await connection.query(news)).length > 0) return true
  }
  return false
}
