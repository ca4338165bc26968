import { CallFailed } from '../errors.ts'
import type { EventRecord, EventType } from '../models.ts'
import { type Calls, type Listing, listing } from '../transport/calls.ts'
import { type FollowOptions, followStream } from '../transport/event-stream.ts'
import { type CallOptions, path, type Transport } from '../transport/transport.ts'

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

/** Follows events while it is read, over several connections, without gaps or repeats. */
async function* followEvents(
  transport: Transport,
  { after, types }: FollowQuery,
  options: FollowOptions,
): AsyncGenerator<EventRecord, undefined> {
  if (after !== undefined && !isId(after)) {
    throw new CallFailed('invalid_argument', { detail: 'after must be the id of an event.' })
  }
  let lastId = after
  const composeCall = () => ({
    path: path`/events`,
    query: { types: types?.join(',') },
    ...(lastId !== undefined && { headers: { 'last-event-id': lastId } }),
  })
  // The service also sends ids without an event: those of events that were not asked for.
  for await (const { content, id } of followStream<EventRecord>(transport, composeCall, options)) {
    if (id !== undefined && !isId(id)) throw new CallFailed('unexpected_answer')
    lastId = id ?? lastId
    if (content) yield content
  }
}

/** Whether it fits in a header, for `Last-Event-ID`. */
const isId = (text: string): boolean => /^[\x21-\x7e]{1,255}$/.test(text)
