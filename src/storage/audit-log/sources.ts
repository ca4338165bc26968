import type { EventType } from '../../domain/event-type.ts'
import type { TryKind } from '../../domain/tries.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** All rows as one value. */
interface Listed<Row> {
  readonly rows: readonly Row[]
}

const listRows = <Row>(answer: readonly Listed<Row>[]): readonly Row[] =>
  firstRow(answer)?.rows ?? []

/** A feed with events that are not yet entered. */
export interface GrownFeed {
  readonly clientId: string
  /** The last entered position, and the last position of the feed: digits. */
  readonly entered: string
  readonly last: string
}

const selectFeeds = declare<{ after: string; limit: number }, GrownFeed>('list_feeds_to_enter')

/** Lists feeds to enter after a client's id, by id. */
export const listGrownFeeds = (
  connection: Connection,
  after: string,
  limit: number,
): Promise<GrownFeed[]> => selectFeeds(connection, { after, limit })

/** An event to enter. */
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
  /** Null unless an operator acted on the client's card. */
  readonly operatorId: string | null
}

const selectEvents = declare<
  { clientIds: readonly string[]; entered: readonly string[]; limit: number },
  Listed<EventToEnter>
>('list_events_to_enter')
const selectOneFeedEvents = declare<
  { clientId: string; entered: string; limit: number },
  Listed<EventToEnter>
>('list_events_to_enter_of_one')

/**
 * Lists the events of feeds after the entered positions, up to a limit for each feed, in the order
 * of each feed.
 */
export async function listEventsToEnter(
  connection: Connection,
  feeds: readonly GrownFeed[],
  { isCluster, limit }: { readonly isCluster: boolean; readonly limit: number },
): Promise<readonly EventToEnter[]> {
  if (!isCluster) {
    const clientIds = feeds.map(({ clientId }) => clientId)
    const entered = feeds.map((feed) => feed.entered)
    return listRows(await selectEvents(connection, { clientIds, entered, limit }))
  }
  const events: EventToEnter[] = []
  for (const { clientId, entered } of feeds) {
    events.push(...listRows(await selectOneFeedEvents(connection, { clientId, entered, limit })))
  }
  return events
}

const upsertFeeds = declare<{ clientIds: readonly string[]; positions: readonly string[] }>(
  'set_feeds_entered',
)

/** Stores the entered position of feeds. */
export async function setFeedsEntered(
  connection: Connection,
  feeds: readonly { readonly clientId: string; readonly position: string }[],
): Promise<void> {
  await upsertFeeds(connection, {
    clientIds: feeds.map(({ clientId }) => clientId),
    positions: feeds.map(({ position }) => position),
  })
}

/** A try to enter. */
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

const updateSourceEntered = declare<{ source: 'acts' | 'tries'; position: string }>(
  'set_source_entered',
)

/** A part of the authorization requests by their arrival, in microseconds since 1970. */
export interface RequestSpan {
  /** Exclusive. */
  readonly after: string
  /** Inclusive. */
  readonly until: string
}

const selectSpan = declare<object, RequestSpan>('find_span_of_tries_to_enter')

/** Finds the requests that can no longer be answered and whose tries are not entered. */
export const findSpanOfTries = async (connection: Connection): Promise<RequestSpan | null> =>
  firstRow(await selectSpan(connection, {}))

/** The tries of the first requests of a span that were never answered. */
interface UnansweredTries {
  /** The arrival of the last request that was read, or the end of the span. */
  readonly position: string
  readonly attempts: readonly AttemptToEnter[]
}

const selectUnansweredTries = declare<RequestSpan & { limit: number }, UnansweredTries>(
  'list_unanswered_tries',
)

/** Lists tries without an answer. @param limit the number of requests to read, answered or not. */
export const listUnansweredTries = async (
  connection: Connection,
  span: RequestSpan,
  limit: number,
): Promise<UnansweredTries> =>
  firstRow(await selectUnansweredTries(connection, { ...span, limit })) ?? {
    position: span.after,
    attempts: [],
  }

/** Stores up to which request the tries are entered. */
export const setTriesEntered = async (connection: Connection, position: string): Promise<void> => {
  await updateSourceEntered(connection, { source: 'tries', position })
}

/** An act on a key or of administration to enter. */
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

const selectActs = declare<{ limit: number }, Listed<ActToEnter>>('list_acts_to_enter')

/** Lists the next acts, by number. */
export const listActsToEnter = async (
  connection: Connection,
  limit: number,
): Promise<readonly ActToEnter[]> => listRows(await selectActs(connection, { limit }))

/** Stores the number up to which acts are entered. */
export const setActsEntered = async (connection: Connection, number: number): Promise<void> => {
  await updateSourceEntered(connection, { source: 'acts', position: String(number) })
}

/** A refused or failed disclosure to enter, with its count. */
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

const takeRefusals = declare<{ limit: number }, Listed<RefusalToEnter>>('take_refusals_to_enter')

/**
 * Takes the refused and failed disclosures of past minutes. The caller enters them in this
 * transaction.
 */
export const takeRefusalsToEnter = async (
  connection: Connection,
  limit: number,
): Promise<readonly RefusalToEnter[]> => listRows(await takeRefusals(connection, { limit }))

const selectGrownFeed = declare<object>('has_feeds_to_enter')
const selectAct = declare<object>('has_acts_to_enter')
const selectRefusal = declare<object>('has_refusals_to_enter')

/** Whether any act is to be entered, without a lock. */
export async function hasNews(connection: Connection): Promise<boolean> {
  for (const select of [selectGrownFeed, selectAct, selectRefusal]) {
    if ((await select(connection, {})).length > 0) return true
  }
  return false
}
