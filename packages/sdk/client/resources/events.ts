import { CallFailed } from '../errors.ts'
import type { EventRecord, EventType } from '../models.ts'
import { checkPatience } from '../options.ts'
import { mayRepeat, type OpenAnswer, pause, waitAfter, withDeadline } from '../transport/attempt.ts'
import { type Calls, type Listing, listing } from '../transport/calls.ts'
import { parseContent } from '../transport/content.ts'
import { type Call, type CallOptions, path, type Transport } from '../transport/transport.ts'

export interface ListEvents {
  /** The `id` of the last event that you have; without it, from the oldest kept. */
  readonly after?: string | undefined
  readonly types?: readonly EventType[] | undefined
  /** Events of a page, 1 to 100. */
  readonly limit?: number | undefined
}

/** Scope `events.read`. */
export interface Events {
  /** Oldest first. Later versions may add types: leave aside what you do not know. */
  list(query?: ListEvents, options?: CallOptions): Listing<EventRecord>
  /**
   * Events as they happen, from now on or after one that you have. Connections that break are
   * opened again where they left off. Ends with `break`, or by the signal, whose reason it throws.
   */
  follow(query?: FollowQuery, options?: FollowOptions): AsyncIterable<EventRecord>
}

export const events = ({ page }: Calls, transport: Transport): Events => ({
  list: ({ types, ...query } = {}, options) =>
    listing(
      async (rest) => {
        const { items, next } = await page<'listEvents'>(path`/events`, rest, options)
        // The document leaves `data` open; what each type holds is in api/events.asyncapi.json.
        return { items: items as readonly EventRecord[], next }
      },
      { ...query, types: types?.join(',') },
      'after',
    ),
  follow: (query = {}, options = {}) => followEvents(transport, query, options),
})

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
async function* followEvents(
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
      for await (const { event, id } of listRecords(answer, silenceMs, options.signal)) {
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
  throw new CallFailed('invalid_argument', { detail: 'after must be the id of an event.' })
}

/** What a stream holds: events, and ids that lead past those that were not asked for. */
async function* listRecords(
  answer: OpenAnswer,
  silenceMs: number,
  signal: CallOptions['signal'],
): AsyncGenerator<{ readonly id: string | undefined; readonly event: EventRecord | undefined }> {
  for await (const { data, id } of eventBlocks(readText(answer, silenceMs, signal))) {
    if (id !== undefined && !isId(id)) throw new CallFailed('unexpected_answer')
    const event =
      data === undefined ? undefined : parseContent<EventRecord>({ ...answer, text: data })
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
async function* readText(
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

/** One block of an event stream (HTML standard, section 9.2). Unset: the block did not say. */
export interface EventBlock {
  readonly id: string | undefined
  readonly data: string | undefined
}

/** Characters; an event takes less than a thousand. */
const longestBlock = 1_048_576

/**
 * The blocks of a stream as they come, also those without data: their id counts.
 * @throws CallFailed `unexpected_answer` for a block that does not end.
 */
export async function* eventBlocks(
  chunks: AsyncIterable<string>,
): AsyncGenerator<EventBlock, undefined> {
  let rest = ''
  for await (const chunk of chunks) {
    const parts = (rest + chunk).split(/\r\n\r\n|\n\n|\r\r/)
    rest = parts.pop() ?? ''
    if (rest.length > longestBlock) throw new CallFailed('unexpected_answer')
    yield* parts.map(parseBlock)
  }
}

function parseBlock(text: string): EventBlock {
  const fields = text.split(/\r\n|\n|\r/).map((line) => /^(id|data)(?:: ?(.*))?$/s.exec(line))
  const listValues = (name: string) =>
    fields.flatMap((field) => (field?.[1] === name ? [field[2] ?? ''] : []))
  const data = listValues('data')
  return { id: listValues('id').at(-1), data: data.length === 0 ? undefined : data.join('\n') }
}
