import { hash } from 'node:crypto'
import {
  type AuditEntry,
  attemptEntryId,
  outcomesByEvent,
  outcomesByResult,
} from '../../domain/audit-entry.ts'
import { lockAuditLog } from '../../storage/audit-log/log.ts'
import * as sources from '../../storage/audit-log/sources.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { type AuditLogContext, appendEntries, openAuditLog } from './audit-log.ts'
import { commitEntries } from './commit-entries.ts'

/** The maximum number of entries that one transaction appends. */
export const batchSize = 1_000
/** The maximum number of entries from each source other than the feeds, which get the rest. */
const sourceShare = batchSize / 4
/** The number of authorization requests that one transaction reads, for tries without an answer. */
const requestsAtOnce = 5_000
/** The time between two searches for tries without an answer. */
const unansweredEveryMs = 15_000
/** The number of feeds that one transaction reads. */
const feedsAtOnce = 50

/**
 * Creates the function that appends acts to the log in batches. Each batch locks the row of the
 * log's head until it commits, so that every act is entered once, however many processes try. The
 * transaction of an act has committed before and never waits.
 * @returns a function that enters the next batch and returns its number of entries; 0 if there are
 *   no new acts.
 */
export function createSequencer({
  database,
  origin,
}: Pick<AuditLogContext, 'database' | 'origin'>): () => Promise<number> {
  // Feeds take turns, so that a busy one does not delay the others.
  let lastClientId = ''
  // A source that just had acts probably has more, so the check for new acts is skipped.
  let isBusy = false
  let isOpen = false
  let searchAtMs = 0
  const enterNextFeeds = async (connection: Connection, total: number) => {
    const feeds = await sources.listGrownFeeds(connection, lastClientId, feedsAtOnce)
    lastClientId = feeds.length === feedsAtOnce ? (feeds.at(-1)?.clientId ?? '') : ''
    return enterFeeds(connection, feeds, { isCluster: database.isCluster(), total })
  }
  return async () => {
    const isSearchDue = performance.now() >= searchAtMs
    if (!isBusy && !isSearchDue && !(await sources.hasNews(database))) return 0
    if (!isOpen) await openAuditLog({ database, origin })
    isOpen = true
    isBusy = false
    const count = await database.transaction(async (connection) => {
      const log = await lockAuditLog(connection)
      // A successor has begun while this call waited for the lock: the next batch is for that one.
      if (!log || log.closedAt) return 0
      const entries = await enterActs(connection)
      const refusals = await sources.takeRefusalsToEnter(connection, sourceShare)
      entries.push(...refusals.map(refusalEntry))
      if (isSearchDue) {
        const { attempts, hasMore } = await enterUnanswered(connection)
        entries.push(...attempts)
        searchAtMs = hasMore ? 0 : performance.now() + unansweredEveryMs
      }
      entries.push(...(await enterNextFeeds(connection, batchSize - entries.length)))
      if (entries.length > 0) await appendEntries(connection, log, commitEntries(entries))
      return entries.length
    })
    isBusy = count > 0
    return count
  }
}

/** Enters the tries of the next requests that were never answered. */
async function enterUnanswered(connection: Connection) {
  const span = await sources.findSpanOfTries(connection)
  if (!span) return { attempts: [], hasMore: false }
  const { attempts, position } = await sources.listUnansweredTries(connection, span, requestsAtOnce)
  await sources.setTriesEntered(connection, position)
  return { attempts: attempts.map(attemptEntry), hasMore: position !== span.until }
}

async function enterActs(connection: Connection): Promise<AuditEntry[]> {
  const acts = await sources.listActsToEnter(connection, sourceShare)
  const last = acts.at(-1)
  if (last) await sources.setActsEntered(connection, last.number)
  return acts.map(({ act, actId, at, clientId, details, number, requestId, ...on }) => ({
    // The lists of acts have most of these members in words, in addition to the subject.
    entry: actId,
    at,
    act: `${act.includes('.') ? '' : `${on.subjectKind}.`}${act.replaceAll(/\s/g, '_')}`,
    number,
    outcome: 'done',
    client: clientId ?? undefined,
    request: requestId ?? undefined,
    [subjectMembers[on.subjectKind] ?? 'subject']: on.subject,
    details: parseDetails(details),
  }))
}

/** The member of an entry for the subject of an act, for subjects with a member of their own. */
const subjectMembers: Readonly<Record<string, 'key' | 'card'>> = { key: 'key', card: 'card' }

async function enterFeeds(
  connection: Connection,
  feeds: readonly sources.GrownFeed[],
  { isCluster, total }: { readonly isCluster: boolean; readonly total: number },
): Promise<AuditEntry[]> {
  if (feeds.length === 0) return []
  const share = Math.floor(total / feeds.length)
  const events = await sources.listEventsToEnter(connection, feeds, { isCluster, limit: share })
  const eventsByClient = Map.groupBy(events, ({ clientId }) => clientId)
  const entered = feeds.map(({ clientId, last }) => {
    const own = eventsByClient.get(clientId) ?? []
    const newest = own.at(-1)?.position ?? '0'
    // Positions have gaps: the positions after the last event may never get an event.
    const isAll = own.length < share && BigInt(last) > BigInt(newest)
    return { clientId, position: isAll ? last : newest }
  })
  await sources.setFeedsEntered(connection, entered)
  return events.map(eventEntry)
}

/** Details that cannot be parsed do not stop later entries: the entry then has their hash. */
function parseDetails(text: string): Readonly<Record<string, unknown>> {
  try {
    const details: unknown = JSON.parse(text)
    if (typeof details === 'object' && details && !Array.isArray(details)) return { ...details }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  return { unreadable: hash('sha256', text, 'hex') }
}

function eventEntry(event: sources.EventToEnter): AuditEntry {
  const { at, clientId, eventId, operatorId, publicToken, requestId, sequence, type } = event
  const { clientId: _, device, requestId: __, ...details } = parseDetails(event.details)
  // The actor is named: an operator, with the client of the card.
  const said = operatorId === null ? details : { ...details, cardClient: clientId }
  return {
    entry: eventId,
    at,
    act: type,
    client: operatorId ?? clientId,
    request: requestId ?? undefined,
    card: publicToken,
    sequence,
    outcome: outcomesByEvent[type],
    details: said,
    device: typeof device === 'string' ? device : undefined,
  }
}

function attemptEntry(attempt: sources.AttemptToEnter): AuditEntry {
  const { at, kind, networkId, publicToken, requestId, result, tryNumber, ...details } = attempt
  return {
    entry: attemptEntryId(attempt),
    at,
    act: `${kind}.attempted`,
    client: networkId,
    request: requestId,
    card: publicToken,
    outcome: outcomesByResult[result],
    reason: result === 'match' ? undefined : result,
    details: { tryNumber, ...details },
  }
}

const refusalEntry = (refusal: sources.RefusalToEnter): AuditEntry => {
  const { act, at, clientId, count, device, entryId, outcome, reason, requestId } = refusal
  const { includesPin, lastAt, publicToken } = refusal
  return {
    entry: entryId,
    at,
    act,
    client: clientId,
    request: requestId,
    outcome,
    reason,
    count,
    card: publicToken ?? undefined,
    device: device ?? undefined,
    details: {
      ...(act !== 'pan.searched' && { includesPin }),
      ...(count > 1 && { lastAt }),
    },
  }
}
