import { Problem } from '../../domain/problem.ts'
import { releaseStream } from '../../storage/clients/streams.ts'
import type { Database } from '../../storage/engine/database.ts'
import * as storedFeed from '../../storage/events/feed.ts'
import { type EventFilter, type EventRecord, eventRecord, positionAfter } from './events.ts'
import { claimSlot, renewEveryMs, renewSlots } from './stream-slots.ts'

const pollMs = 100
const heartbeatMs = 15_000
const pageSize = 100

/** A live stream of a client's events. */
export interface EventStream {
  /** The event after which it continues; null before the first event. */
  readonly after: string | null
  /** Events as they occur, in batches; an empty batch is a keep-alive. */
  readonly events: AsyncIterable<readonly EventRecord[]>
  /** Ends it: the iteration finishes. */
  end(): void
}

/** The streams that this process serves. */
export interface EventStreams {
  /**
   * @throws `Problem` `rate_limited` if the client has the maximum number of streams;
   *   `validation_failed` if the event to continue after is not stored.
   */
  open(clientId: string, filter: EventFilter, expiresAt: Date): Promise<EventStream>
  /** Ends all streams, and opens no more. */
  close(): Promise<void>
}

/** @param onError receives errors that will be retried. */
export function createEventStreams(
  database: Database,
  onError: (error: unknown) => void,
  { renewMs = renewEveryMs } = {},
): EventStreams {
  const streams = new Set<OpenStream>()
  const watch = watchFeeds(database, streams, renewMs, onError)
  let isClosed = false
  return {
    async open(clientId, filter, expiresAt) {
      if (isClosed) throw new Problem('unavailable')
      const { after, types } = filter
      const newest = after === null ? await storedFeed.findNewestEvent(database, clientId) : null
      const position =
        after === null ? (newest?.position ?? '0') : await positionAfter(database, clientId, after)
      const holder = await claimSlot(database, clientId, 'events.read')
      if (isClosed) {
        await releaseStream(database, clientId, holder)
        throw new Problem('unavailable')
      }
      const stream: OpenStream = {
        clientId,
        holder,
        types,
        expiresAt,
        position,
        head: '',
        isOver: false,
        hasNews: false,
        notify: null,
      }
      streams.add(stream)
      watch.start()
      const finish = async () => {
        if (!streams.delete(stream)) return
        await releaseStream(database, clientId, holder).catch(onError)
      }
      const end = () => {
        endStream(stream)
        // The iteration may never have begun.
        void finish()
      }
      const events = readOn(database, stream, finish)
      return { after: after ?? newest?.eventId ?? null, events, end }
    },
    async close() {
      isClosed = true
      for (const stream of streams) endStream(stream)
      await watch.stop()
    },
  }
}

interface OpenStream {
  readonly clientId: string
  /** The holder of the slot's lease. */
  readonly holder: string
  readonly types: EventFilter['types']
  readonly expiresAt: Date
  /** The position up to which it was read. */
  position: storedFeed.FeedPosition
  /** The head of the feed at the last check. */
  head: storedFeed.FeedPosition
  isOver: boolean
  hasNews: boolean
  /** Ends the wait of its reader. */
  notify: (() => void) | null
}

function notifyReader(stream: OpenStream): void {
  stream.hasNews = true
  stream.notify?.()
}

function endStream(stream: OpenStream): void {
  stream.isOver = true
  notifyReader(stream)
}

/** Reads from the stream's position, and waits for more, until the stream or its time ends. */
async function* readOn(
  database: Database,
  stream: OpenStream,
  finish: () => Promise<void>,
): AsyncGenerator<readonly EventRecord[]> {
  const { clientId, expiresAt, types } = stream
  try {
    while (!stream.isOver && Date.now() < expiresAt.getTime()) {
      stream.hasNews = false
      const { head, position } = stream
      const events = await storedFeed.listPublishedEvents(database, clientId, {
        after: position,
        types,
        limit: pageSize,
      })
      const last = events.at(-1)
      if (last) {
        stream.position = last.position
        yield events.map(eventRecord)
      } else {
        // Everything up to there was read, including other types, and must not be read again.
        if (BigInt(head) > BigInt(position)) stream.position = head
        if (!(await waitForNews(stream))) yield []
      }
    }
  } finally {
    await finish()
  }
}

/**
 * Waits for new events.
 * @returns false when a keep-alive is due.
 */
function waitForNews(stream: OpenStream): Promise<boolean> {
  if (stream.hasNews) return Promise.resolve(true)
  return new Promise((resolve) => {
    const settle = (hasNews: boolean) => {
      clearTimeout(timer)
      stream.notify = null
      resolve(hasNews)
    }
    const waitMs = Math.max(0, Math.min(heartbeatMs, stream.expiresAt.getTime() - Date.now()))
    const timer = setTimeout(() => settle(false), waitMs)
    stream.notify = () => settle(true)
  })
}

/** Checks all streams together, with one statement. */
function watchFeeds(
  database: Database,
  streams: ReadonlySet<OpenStream>,
  renewMs: number,
  onError: (error: unknown) => void,
): { start(): void; stop(): Promise<void> } {
  let looking: Promise<void> | null = null
  let timer: NodeJS.Timeout | null = null
  let renewAtMs = 0
  const look = async (): Promise<void> => {
    if (performance.now() >= renewAtMs) {
      renewAtMs = performance.now() + renewMs
      for (const stream of await renewSlots(database, streams)) endStream(stream)
    }
    const clientIds = [...new Set([...streams].map(({ clientId }) => clientId))]
    if (clientIds.length === 0) return
    const heads = await storedFeed.listEventHeads(database, clientIds)
    const headsByClient = new Map(
      heads.map(({ clientId, lastPosition }) => [clientId, lastPosition]),
    )
    for (const stream of streams) {
      const head = headsByClient.get(stream.clientId)
      if (head === undefined || head === stream.head) continue
      stream.head = head
      notifyReader(stream)
    }
  }
  const schedule = () => {
    timer = setTimeout(() => {
      timer = null
      looking = look()
        .catch(onError)
        .finally(() => {
          looking = null
          if (streams.size > 0 && timer === null) schedule()
        })
    }, pollMs)
  }
  return {
    start() {
      if (timer === null && looking === null) schedule()
    },
    async stop() {
      if (timer) clearTimeout(timer)
      await looking
    },
  }
}
