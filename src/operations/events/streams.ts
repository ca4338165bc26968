import { randomUUID } from 'node:crypto'
import { Problem } from '../../domain/problem.ts'
import type { Database } from '../../storage/engine/database.ts'
import {
  claimStream,
  type FeedPosition,
  findNewestEvent,
  listEventHeads,
  listPlacedEvents,
  releaseStream,
  renewStreams,
} from '../../storage/events/feed.ts'
import { type EventFilter, type EventRecord, eventRecord, positionAfter } from './events.ts'

/** Streams that a client may have open, over all processes. */
const streamsMax = 10
const leaseSeconds = 30
/** How often it is made sure that clients may still read. */
const renewEveryMs = 10_000
const pollMs = 100
const heartbeatMs = 15_000
const pageSize = 100

/** A live reading of a client's events. */
export interface EventStream {
  /** The event that it goes on after; null when there has been none yet. */
  readonly after: string | null
  /** Events as they come, some at a time; an empty list now and then says that it is alive. */
  readonly events: AsyncIterable<readonly EventRecord[]>
  /** Ends it: the iteration finishes. */
  end(): void
}

/** The streams that this process serves. */
export interface EventStreams {
  /**
   * @throws `Problem` `rate_limited` when the client has as many as it may; `validation_failed` when
   * the event to go on after is not kept.
   */
  open(clientId: string, filter: EventFilter, expiresAt: Date): Promise<EventStream>
  /** Ends all of them, and opens none any more. */
  close(): Promise<void>
}

interface OpenStream {
  readonly clientId: string
  readonly holder: string
  /** The head of the feed when it was last looked at. */
  head: FeedPosition
  isOver: boolean
  hasNews: boolean
  wake: (() => void) | null
}

/** @param onError told of what will be tried again. */
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
      const start = await startOf(database, clientId, filter.after)
      const stream = await claim(database, clientId)
      if (isClosed) {
        await releaseStream(database, clientId, stream.holder)
        throw new Problem('unavailable')
      }
      streams.add(stream)
      watch.start()
      const finish = async () => {
        if (!streams.delete(stream)) return
        await releaseStream(database, clientId, stream.holder).catch(onError)
      }
      const end = () => {
        wakeUp(stream, { isOver: true })
        // Nobody may have begun to read.
        void finish()
      }
      const events = follow(database, stream, filter, start.position, expiresAt, finish)
      return { after: start.after, events, end }
    },
    async close() {
      isClosed = true
      for (const stream of streams) wakeUp(stream, { isOver: true })
      await watch.stop()
    },
  }
}

async function startOf(
  database: Database,
  clientId: string,
  after: string | null,
): Promise<{ after: string | null; position: FeedPosition }> {
  if (after !== null) return { after, position: await positionAfter(database, clientId, after) }
  const newest = await findNewestEvent(database, clientId)
  return { after: newest?.eventId ?? null, position: newest?.position ?? '0' }
}

async function claim(database: Database, clientId: string): Promise<OpenStream> {
  const holder = randomUUID()
  // A slot that two reach for at once goes to one of them; the other looks for the next.
  for (let attempt = 0; attempt <= streamsMax; attempt += 1) {
    if (await claimStream(database, clientId, holder, streamsMax, leaseSeconds)) {
      return { clientId, holder, head: '', isOver: false, hasNews: false, wake: null }
    }
  }
  throw new Problem('rate_limited', {
    detail: `A client may have ${streamsMax} streams open.`,
    retryAfterSeconds: leaseSeconds,
  })
}

function wakeUp(stream: OpenStream, { isOver = false } = {}): void {
  stream.isOver ||= isOver
  stream.hasNews = true
  stream.wake?.()
}

/** Reads from a position on, waits for more, and ends when it is told to or its time is over. */
async function* follow(
  database: Database,
  stream: OpenStream,
  { types }: EventFilter,
  start: FeedPosition,
  expiresAt: Date,
  finish: () => Promise<void>,
): AsyncGenerator<readonly EventRecord[]> {
  let position = start
  try {
    while (!stream.isOver && Date.now() < expiresAt.getTime()) {
      stream.hasNews = false
      const { head } = stream
      const events = await listPlacedEvents(database, stream.clientId, position, types, pageSize)
      const last = events.at(-1)
      if (last) {
        position = last.position
        yield events.map(eventRecord)
      } else {
        // All up to there were looked at: they are not to be read again because of their types.
        if (BigInt(head) > BigInt(position)) position = head
        if (!(await news(stream, expiresAt))) yield []
      }
    }
  } finally {
    await finish()
  }
}

/** Waits for something to look at. @returns false when it is time for a sign of life. */
function news(stream: OpenStream, expiresAt: Date): Promise<boolean> {
  if (stream.hasNews) return Promise.resolve(true)
  return new Promise((resolve) => {
    const settle = (hasCome: boolean) => {
      clearTimeout(timer)
      stream.wake = null
      resolve(hasCome)
    }
    const waitMs = Math.max(0, Math.min(heartbeatMs, expiresAt.getTime() - Date.now()))
    const timer = setTimeout(() => settle(false), waitMs)
    stream.wake = () => settle(true)
  })
}

/** Looks after all streams at once: a statement a turn, however many there are. */
function watchFeeds(
  database: Database,
  streams: ReadonlySet<OpenStream>,
  renewMs: number,
  onError: (error: unknown) => void,
): { start(): void; stop(): Promise<void> } {
  let turning: Promise<void> | null = null
  let timer: NodeJS.Timeout | null = null
  let renewAtMs = 0
  const turn = async (): Promise<void> => {
    if (performance.now() >= renewAtMs) {
      renewAtMs = performance.now() + renewMs
      await keepSlots(database, streams)
    }
    await lookForNews(database, streams)
  }
  const schedule = () => {
    timer = setTimeout(() => {
      timer = null
      turning = turn()
        .catch(onError)
        .finally(() => {
          turning = null
          if (streams.size > 0 && timer === null) schedule()
        })
    }, pollMs)
  }
  return {
    start() {
      if (timer === null && turning === null) schedule()
    },
    async stop() {
      if (timer) clearTimeout(timer)
      await turning
    },
  }
}

async function lookForNews(database: Database, streams: ReadonlySet<OpenStream>): Promise<void> {
  const clientIds = [...new Set([...streams].map(({ clientId }) => clientId))]
  if (clientIds.length === 0) return
  const heads = await listEventHeads(database, clientIds)
  const headOf = new Map(heads.map(({ clientId, lastPosition }) => [clientId, lastPosition]))
  for (const stream of streams) {
    const head = headOf.get(stream.clientId)
    if (head === undefined || head === stream.head) continue
    stream.head = head
    wakeUp(stream)
  }
}

/** A client that may no longer read loses its streams; so does one whose slot another has by now. */
async function keepSlots(database: Database, streams: ReadonlySet<OpenStream>): Promise<void> {
  const holders = [...streams].map(({ holder }) => holder)
  const kept = await renewStreams(database, holders, leaseSeconds)
  for (const stream of streams) {
    if (holders.includes(stream.holder) && !kept.has(stream.holder)) {
      wakeUp(stream, { isOver: true })
    }
  }
}
