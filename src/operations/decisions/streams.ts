import { Problem } from '../../domain/problem.ts'
import { releaseStream } from '../../storage/clients/streams.ts'
import type { DecisionKey } from '../../storage/decisions/calls.ts'
import * as stored from '../../storage/decisions/streams.ts'
import type { Database } from '../../storage/engine/database.ts'
import { claimSlot, renewEveryMs, renewSlots } from '../events/stream-slots.ts'
import type { CalledAnswers } from './calls.ts'

const pollMs = 25
/** An embedded database has one process: offers tell of every request. */
const embeddedPollMs = 1_000
/** The rest after a look that failed. */
const outageMs = 1_000
const heartbeatMs = 15_000
/** The requests that are taken at once. */
const requestsMost = 100
/**
 * A stream whose last request was not answered takes only what no other stream takes within this
 * time, or within a quarter of the time for an answer.
 */
const patienceMostMs = 200

/** A request as it is sent: the exact body, with the headers that it would have by HTTP. */
export interface StreamedRequest {
  readonly decisionId: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Composes and signs a request. The same row gives the same body in every process. */
export type ComposeRow = (row: stored.OfferedRequest) => Promise<StreamedRequest>

/** An open stream of a client. */
export interface DecisionStream {
  /** Requests as they come, in batches; an empty batch is a keep-alive. */
  readonly requests: AsyncIterable<readonly StreamedRequest[]>
  /** Ends it: the iteration finishes. Another stream gets what is not answered. */
  end(): void
}

/** The streams that this process serves. */
export interface DecisionStreams {
  /**
   * Tells the streams of this process that a request of a client waits: a committed, unconcluded
   * row. Streams of other processes see it within a poll.
   */
  offer(clientId: string): void
  /** Whether a stream has taken a request, in any process. */
  isTaken(request: DecisionKey): Promise<boolean>
  /** @throws `Problem` `rate_limited` if the client has the maximum number of streams. */
  open(clientId: string, expiresAt: Date): Promise<DecisionStream>
  /** Ends all streams, and opens no more. Resolves when nothing of them reads or writes. */
  close(): Promise<void>
}

interface StreamContext {
  readonly database: Database
  readonly answers: Pick<CalledAnswers, 'wait'>
  readonly compose: ComposeRow
  /** Receives errors of what will be repeated. */
  readonly onError: (error: unknown) => void
}

export function createDecisionStreams(
  context: StreamContext,
  { renewMs = renewEveryMs } = {},
): DecisionStreams {
  const { database, onError } = context
  const streams = new Set<OpenStream>()
  const leaving = new Set<Promise<void>>()
  const watch = watchRequests(context, streams, renewMs)
  let isClosed = false
  const finish = async (stream: OpenStream): Promise<void> => {
    if (!streams.delete(stream)) return
    endStream(stream)
    const left = leaveRequests(context, stream).catch(onError)
    leaving.add(left)
    await left
    leaving.delete(left)
    watch.lookNow()
  }
  return {
    offer(clientId) {
      for (const stream of streams) if (stream.clientId === clientId) return watch.lookNow()
    },
    async isTaken(request) {
      return (await stored.findRequestProgress(database, request)).isTaken
    },
    async open(clientId, expiresAt) {
      if (isClosed) throw new Problem('unavailable')
      const holder = await claimSlot(database, clientId, 'decisions.write')
      const stream = createStream(clientId, holder, expiresAt)
      if (isClosed) {
        await releaseStream(database, clientId, holder)
        throw new Problem('unavailable')
      }
      streams.add(stream)
      watch.start()
      // The iteration may never have begun.
      const end = () => void finish(stream)
      return { requests: readOn(stream, watch.lookNow, () => finish(stream)), end }
    },
    async close() {
      isClosed = true
      for (const stream of streams) void finish(stream)
      await watch.stop()
      await Promise.all(leaving)
    },
  }
}

interface OpenStream {
  readonly clientId: string
  /** The holder of the slot's lease, and of the requests that it has taken. */
  readonly holder: string
  readonly expiresAt: Date
  /** The requests that its reader gets next. */
  ready: StreamedRequest[]
  /** The requests that it has taken, neither answered nor late. */
  readonly unanswered: Map<string, DecisionKey>
  /** The running observations of whether its requests are answered. */
  readonly watching: Set<Promise<void>>
  /** Whether its last request was not answered. */
  isSilent: boolean
  readonly ended: AbortController
  /** Ends the wait of its reader. Null: its reader does not wait, and so it takes nothing. */
  notify: (() => void) | null
}

const createStream = (clientId: string, holder: string, expiresAt: Date): OpenStream => ({
  clientId,
  holder,
  expiresAt,
  ready: [],
  unanswered: new Map(),
  watching: new Set(),
  isSilent: false,
  ended: new AbortController(),
  notify: null,
})

function endStream(stream: OpenStream): void {
  stream.ended.abort()
  stream.notify?.()
}

/** Leaves to other streams what a stream has taken, and releases its slot. */
async function leaveRequests({ database }: StreamContext, stream: OpenStream): Promise<void> {
  const { clientId, holder, unanswered, watching } = stream
  await Promise.all(watching)
  if (unanswered.size > 0) {
    await stored.giveRequestsBack(database, [...unanswered.values()], holder)
  }
  await releaseStream(database, clientId, holder)
}

/** Passes on what the stream has taken, until the stream or its time ends. */
async function* readOn(
  stream: OpenStream,
  lookNow: () => void,
  finish: () => Promise<void>,
): AsyncGenerator<readonly StreamedRequest[]> {
  try {
    while (!stream.ended.signal.aborted && Date.now() < stream.expiresAt.getTime()) {
      const requests = stream.ready
      stream.ready = []
      if (requests.length > 0) yield requests
      else if (!(await waitForRequests(stream, lookNow))) yield []
    }
  } finally {
    await finish()
  }
}

/**
 * Waits for requests. Only a stream that waits takes any: a slow reader has what it can read.
 * @returns false when a keep-alive is due.
 */
function waitForRequests(stream: OpenStream, lookNow: () => void): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (hasRequests: boolean) => {
      clearTimeout(timer)
      stream.notify = null
      resolve(hasRequests)
    }
    const waitMs = Math.max(0, Math.min(heartbeatMs, stream.expiresAt.getTime() - Date.now()))
    const timer = setTimeout(() => settle(false), waitMs)
    stream.notify = () => settle(true)
    lookNow()
  })
}

/** Looks for requests of all streams together. */
function watchRequests(
  context: StreamContext,
  streams: ReadonlySet<OpenStream>,
  renewMs: number,
): { start(): void; lookNow(): void; stop(): Promise<void> } {
  const { database, onError } = context
  const restMs = database.isShared ? pollMs : embeddedPollMs
  let looking: Promise<void> | null = null
  let isLookDue = false
  let isStopped = false
  let timer: NodeJS.Timeout | null = null
  let renewAtMs = 0
  let nextRestMs = restMs
  const look = async (): Promise<void> => {
    if (performance.now() >= renewAtMs) {
      renewAtMs = performance.now() + renewMs
      for (const stream of await renewSlots(database, streams)) endStream(stream)
    }
    const leftForMs = await passRequestsOn(context, streams)
    nextRestMs = Math.min(restMs, leftForMs)
  }
  const run = () => {
    if (timer) clearTimeout(timer)
    timer = null
    isLookDue = false
    nextRestMs = restMs
    looking = look()
      .catch((error: unknown) => {
        nextRestMs = outageMs
        onError(error)
      })
      .finally(() => {
        looking = null
        if (isStopped || streams.size === 0) return
        if (isLookDue) run()
        else timer = setTimeout(run, nextRestMs)
      })
  }
  return {
    start() {
      if (timer === null && looking === null && !isStopped) timer = setTimeout(run, restMs)
    },
    lookNow() {
      if (isStopped || streams.size === 0) return
      if (looking) isLookDue = true
      else run()
    },
    async stop() {
      isStopped = true
      if (timer) clearTimeout(timer)
      await looking
    },
  }
}

/**
 * Takes waiting requests for the streams that can send them.
 * @returns in how many milliseconds a silent stream may take one that was left.
 */
async function passRequestsOn(
  context: StreamContext,
  streams: ReadonlySet<OpenStream>,
): Promise<number> {
  const waiting = [...streams].filter(
    ({ ended, notify }) => !ended.signal.aborted && notify !== null,
  )
  const clientIds = [...new Set(waiting.map(({ clientId }) => clientId))]
  let leftForMs = Number.POSITIVE_INFINITY
  if (clientIds.length === 0) return leftForMs
  const rows = await stored.listWaitingRequests(context.database, clientIds, requestsMost)
  const chosen = new Map<OpenStream, stored.OfferedRequest[]>()
  for (const row of rows) {
    const stream = chooseStream(waiting, chosen, row)
    const patienceMs = stream?.isSilent === true ? patienceFor(row) - row.ageMs : 0
    if (patienceMs > 0) leftForMs = Math.min(leftForMs, patienceMs)
    else if (stream) chosen.set(stream, [...(chosen.get(stream) ?? []), row])
  }
  await Promise.all([...chosen].map(([stream, some]) => sendOn(context, stream, some)))
  return leftForMs
}

/** How long a request waits for a stream that is not silent. */
const patienceFor = ({ timeoutMs }: stored.OfferedRequest): number =>
  Math.min(patienceMostMs, timeoutMs / 4)

/** Chooses the stream with the fewest unanswered requests, and a silent one at last. */
function chooseStream(
  streams: readonly OpenStream[],
  chosen: ReadonlyMap<OpenStream, readonly unknown[]>,
  { clientId }: stored.OfferedRequest,
): OpenStream | null {
  const load = (stream: OpenStream) => stream.unanswered.size + (chosen.get(stream)?.length ?? 0)
  const [best] = streams
    .filter((stream) => stream.clientId === clientId)
    .toSorted((a, b) => Number(a.isSilent) - Number(b.isSilent) || load(a) - load(b))
  return best ?? null
}

async function sendOn(
  context: StreamContext,
  stream: OpenStream,
  rows: readonly stored.OfferedRequest[],
): Promise<void> {
  const { compose, database } = context
  const taken = await stored.takeRequests(database, rows, stream.holder)
  const own = rows.filter(({ decisionId }) => taken.has(decisionId))
  for (const row of own) stream.unanswered.set(row.decisionId, row)
  try {
    const composed = await Promise.all(own.map(compose))
    stream.ready.push(...composed)
  } catch (error) {
    for (const row of own) stream.unanswered.delete(row.decisionId)
    await stored.giveRequestsBack(database, own, stream.holder)
    throw error
  }
  for (const row of own) {
    const watched = watchAnswer(context, stream, row).finally(() => stream.watching.delete(watched))
    stream.watching.add(watched)
  }
  // It may have ended meanwhile, after it gave back what it had taken until then.
  if (stream.ended.signal.aborted) {
    await stored.giveRequestsBack(database, own, stream.holder)
  }
  stream.notify?.()
}

/** Notes whether a request is answered in time. */
async function watchAnswer(
  { answers, database, onError }: StreamContext,
  stream: OpenStream,
  row: stored.OfferedRequest,
): Promise<void> {
  const leftMs = Math.max(0, row.deadline.getTime() - Date.now())
  const isOver = AbortSignal.any([AbortSignal.timeout(leftMs), stream.ended.signal])
  const answer = await answers.wait(row.decisionId, isOver)
  if (stream.ended.signal.aborted) return
  stream.unanswered.delete(row.decisionId)
  try {
    // An answer that was concluded at once in another process shows in the row only.
    const isAnswered =
      answer !== null || (await stored.findRequestProgress(database, row)).isAnswered
    stream.isSilent = !isAnswered
  } catch (error) {
    onError(error)
  }
}
