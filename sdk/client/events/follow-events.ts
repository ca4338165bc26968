import type { EventRecord, EventType } from '../models.ts'
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

/** The service gives a sign of life every 15 seconds: after three that did not come, it is gone. */
const silenceMs = 45_000

/** Follows for as long as it is read, over any number of connections, without a gap or a repeat. */
export async function* followEvents(
  transport: Transport,
  { after, types }: FollowQuery,
  options: CallOptions,
): AsyncGenerator<EventRecord, undefined> {
  let lastId = after
  for (let failures = 0; ; failures += 1) {
    let failure: unknown
    try {
      const query = { types: types?.join(',') }
      const { body } = await transport.open({ ...streamCall(lastId), ...options, query })
      for await (const { data, id } of eventBlocks(textOf(body, options.signal))) {
        failures = 0
        lastId = id ?? lastId
        if (data !== undefined) yield JSON.parse(data) as EventRecord
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

const streamCall = (lastId: string | undefined): Call => ({
  method: 'GET',
  path: path`/events`,
  headers: {
    accept: 'text/event-stream',
    ...(lastId !== undefined && { 'last-event-id': lastId }),
  },
  isRepeatable: true,
})

/** The text of an answer as it comes. Silence ends it, and so does the signal. @throws CallFailed */
async function* textOf(
  body: ReadableStream<Uint8Array> | null,
  signal?: AbortSignal,
): AsyncGenerator<string, undefined> {
  const reader = body?.getReader()
  if (!reader) return
  const decoder = new TextDecoder()
  const stop = () => void reader.cancel().catch(() => undefined)
  try {
    for (;;) {
      const { done, value } = await withDeadline({ timeoutMs: silenceMs, signal }, (ending) => {
        ending.addEventListener('abort', stop, { once: true })
        return reader.read()
      })
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    stop()
  }
}
