import { type Connection, type Database, firstRow, onKey, statement } from '../engine/database.ts'

/** Feeds, and tries, that are looked at: where more wait, those are old enough to say so. */
const lookedAtMost = 1_000

const age = (time: string): string =>
  `greatest(0, extract(epoch from clock_timestamp() - ${time}) * 1000)::float8 as "ageMs"`

const actStatement = statement(
  'find_age_of_act_to_enter',
  `select ${age('acted_at')} from audit_act
   where number > (select position from audit_entered where source = 'acts')
   order by number limit 1`,
)

const refusalStatement = statement(
  'find_age_of_refusal_to_enter',
  `select ${age('first_at')} from refused_disclosure order by minute, entry_id limit 1`,
)

const unpublishedStatement = statement(
  'find_age_of_event_to_publish',
  `select ${age('occurred_at')} from event where not published
   order by occurred_at, public_token, sequence limit 1`,
)

const attemptStatement = statement(
  'find_age_of_attempt_to_enter',
  `with waiting as materialized (
     select public_token, kind, try_number from attempt_to_enter limit ${lookedAtMost}
   )
   select ${age('min(attempted_at)')}
   from waiting join attempt on ${onKey('attempt', 'waiting', ['public_token', 'kind', 'try_number'])}`,
)

const grownFeeds = `feed_head
  left join audit_feed on audit_feed.client_id = feed_head.client_id`
const isGrown = 'last_position > coalesce(audit_feed.position, 0)'

const eventStatement = statement(
  'find_age_of_event_to_enter',
  `select ${age('min(occurred_at)')}
   from (
     select feed_head.client_id, coalesce(audit_feed.position, 0) as entered
     from ${grownFeeds} where ${isGrown} limit ${lookedAtMost}
   ) as feed cross join lateral (
     select occurred_at from published_event
     where published_event.client_id = feed.client_id and position > feed.entered
     order by position limit 1
   ) as next`,
)
// A cluster takes no limit in a lateral subquery: its nodes look at all that is not entered.
const eventOnNodesStatement = statement(
  'find_age_of_event_to_enter_on_nodes',
  `select ${age('min(occurred_at)')}
   from ${grownFeeds}
   join published_event on published_event.client_id = feed_head.client_id
     and published_event.position > coalesce(audit_feed.position, 0)
   where ${isGrown}`,
)

/**
 * For how long the oldest act has waited that is not entered in the audit log, by the database's clock; 0: there is none.
 * However much waits, it costs a few looks at the beginning of an index.
 */
export async function findWaitingMs(
  database: Connection & Pick<Database, 'isCluster'>,
): Promise<number> {
  const statements = [
    actStatement,
    refusalStatement,
    unpublishedStatement,
    attemptStatement,
    database.isCluster() ? eventOnNodesStatement : eventStatement,
  ]
  let oldestMs = 0
  for (const each of statements) {
    const row = firstRow(await database.query<{ readonly ageMs: number | null }>(each))
    oldestMs = Math.max(oldestMs, row?.ageMs ?? 0)
  }
  return oldestMs
}
