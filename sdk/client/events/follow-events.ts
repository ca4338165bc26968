import { CallFailed } from '../errors/call-failed.ts'
import type { EventRecord, EventType } from '../models.ts'
import { checkPatience } from '../options.ts'
import type { OpenAnswer } from '../transport/attempt.ts'
import { contentOf } from '../transport/content.ts'
import { path } from '../transport/path.ts'
import { mayRepeat, pause, waitAfter } from '../transport/repeat.ts'
import type { Call, CallOptions, Transport } from '../transport/transport.ts'
import { withDeadline } from '../transport/with-deadline.ts'
import { eventBlocks } from './event-blocks.ts'

export interface FollowQuery {
  /** The `id` of the last event that you have; without it, from now on. */
  readonly after?: string | undefined
  readonly types?: readonly EventType[] | undefined
}

export interface FollowOptions {
  readonly signal?: AbortSignal | undefined
  /** For each connection, until it is open. */
  readonly timeoutMs?: number | undefined
  /** A connection that is silent for so long is left for another; 45,000 unless given. */
  readonly silenceMs?: number | undefined
}

/** The service gives a sign of life every 15 seconds: after three that did not come, it is gone. */
const usualSilenceMs = 45_000

/** Follows for as long as it is read, over any number of connections, without a gap or a repeat. */
export async function* followEvents(
  transport: Transport,
  { after, types }: FollowQuery,
  { silenceMs = usualSilenceMs, ...options }: FollowOptions,
): AsyncGenerator<EventRecord, undefined> {
  checkQuery(after, silenceMs)
  let lastId = after
  for (let failures = 0; ; failures += 1) {
    let failure: unknown
    try {
      const query = { types: types?.join(',') }
      const answer = await transport.open({ ...streamCall(lastId), ...options, query })
      for await (const { event, id } of recordsOf(answer, silenceMs, options.signal)) {
        failures = 0
        lastId = id ?? lastId
        if (event) yield event
      }
    } catch (error) {
      options.signal?.throwIfAborted()
      if (!mayRepeat(error, true)) throw error
      failure = error
    }
    // A stream also ends when its token expires, or when a process of the service stops.
    await pause(waitAfter(failure, failures), options.signal)
  }
}

function checkQuery(after: string | undefined, silenceMs: number): void {
  checkPatience({ silenceMs })
  if (after === undefined || isId(after)) return
  throw new CallFailed('invalid_argument', { detail: 'after is the id of an event.' })
}

/** What a stream holds: events, and ids that lead past those that were not asked for. */
async function* recordsOf(
  answer: OpenAnswer,
  silenceMs: number,
  signal: CallOptions['signal'],
): AsyncGenerator<{ readonly id: string | undefined; readonly event: EventRecord | undefined }> {
  for await (const { data, id } of eventBlocks(textOf(answer, silenceMs, signal))) {
    if (id !== undefined && !isId(id)) throw new CallFailed('unexpected_answer')
    const event = data === undefined ? undefined : contentOf<EventRecord>({ ...answer, text: data })
    yield { id, event }
  }
}

/** Whether a header can hold it: it goes back as `Last-Event-ID`. */
const isId = (text: string): boolean => /^[\x21-\x7e]{1,255}$/.test(text)

const streamCall = (lastId: string | undefined): Call => ({
  method: 'GET',
  path: path`/events`,
  headers: {
    accept: 'text/event-stream',
    ...(lastId !== undefined && { 'last-event-id': lastId }),
  },
  isRepeatable: true,
})

/** The text of a stream as it comes. Silence ends it, and so does the signal. @throws CallFailed */
async function* textOf(
  { body, headers, status }: OpenAnswer,
  timeoutMs: number,
  signal: CallOptions['signal'],
): AsyncGenerator<string, undefined> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  try {
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
    if (!reader || !isStream) throw new CallFailed('unexpected_answer', { status })
    for (;;) {
      const { done, value } = await withDeadline({ timeoutMs, signal }, () => reader.read())
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    void reader?.cancel().catch(() => undefined)
  }
}
