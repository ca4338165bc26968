import { CallFailed } from '../errors.ts'
import type { EventRecord, EventType } from '../models.ts'
import { checkPatience } from '../options.ts'
import { mayRepeat, type OpenAnswer, pause, waitAfter, withDeadline } from '../transport/attempt.ts'
import { type Calls, type Listing, listing } from '../transport/calls.ts'
import { parseContent } from '../transport/content.ts'
import { type Call, type CallOptions, path, type Transport } from '../transport/transport.ts'

export interface ListEvents {
  /** The `id` of your last event; from the oldest stored one unless given. */
  readonly after?: string | undefined
  readonly types?: readonly EventType[] | undefined
  /** Events of a page, 1 to 100. */
  readonly limit?: number | undefined
}

/** Scope `events.read`. */
export interface Events {
  /** Oldest first. Later versions may add types: ignore unknown ones. */
  list(query?: ListEvents, options?: CallOptions): Listing<EventRecord>
  /**
   * Events as they occur, from now on or after a given one. Broken connections are resumed without
   * a gap. Ends with `break`, or with the signal, whose reason it throws.
   */
  follow(query?: FollowQuery, options?: FollowOptions): AsyncIterable<EventRecord>
}

export const events = ({ page }: Calls, transport: Transport): Events => ({
  list: ({ types, ...query } = {}, options) =>
    listing(
      async (rest) => {
        const { items, next } = await page<'listEvents'>(path`/events`, rest, options)
        // The document leaves `data` open; api/events.asyncapi.json has the content of each type.
        return { items: items as readonly EventRecord[], next }
      },
      { ...query, types: types?.join(',') },
      'after',
    ),
  follow: (query = {}, options = {}) => followEvents(transport, query, options),
})

export interface FollowQuery {
  /** The `id` of your last event; from now on unless given. */
  readonly after?: string | undefined
  readonly types?: readonly EventType[] | undefined
}

export interface FollowOptions {
  readonly signal?: AbortSignal | undefined
  /** For each connection, until it is open. */
  readonly timeoutMs?: number | undefined
  /** The maximum silence of a connection before it is replaced; 45,000 unless given. */
  readonly silenceMs?: number | undefined
}

/**
 * The service sends a heartbeat every 15 seconds: after three missing ones, the connection is lost.
 */
export const usualSilenceMs = 45_000

/** Follows events while it is read, over several connections, without gaps or repeats. */
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

/** Yields the records of a stream: events, and IDs that skip unrequested ones. */
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

/** Whether it fits in a header, for `Last-Event-ID`. */
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

/** Yields the text of a stream. Silence or the signal ends it. @throws CallFailed */
export async function* readText(
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

/** One block of an event stream (HTML standard, section 9.2). Absent members are unset. */
export interface EventBlock {
  readonly id: string | undefined
  readonly data: string | undefined
}

/** Characters; an event takes less than a thousand. */
const longestBlock = 1_048_576

/**
 * Yields the blocks of a stream, also those without data, since their ID counts.
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
