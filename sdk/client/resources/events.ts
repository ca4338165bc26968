import { type FollowOptions, type FollowQuery, followEvents } from '../events/follow-events.ts'
import type { EventRecord, EventType } from '../models.ts'
import type { Calls } from '../transport/calls.ts'
import { type Listing, listing } from '../transport/listing.ts'
import { path } from '../transport/path.ts'
import type { CallOptions, Transport } from '../transport/transport.ts'

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
   * Events as they happen, from now on or after one that you have. Connections that break are opened
   * again where they left off. Ends with `break`, or by the signal, whose reason it throws.
   */
  follow(query?: FollowQuery, options?: FollowOptions): AsyncIterable<EventRecord>
}

export const events = ({ page }: Calls, transport: Transport): Events => ({
  list: ({ types, ...query } = {}, options) =>
    listing(
      async (rest) => {
        const { items, next } = await page<'listEvents'>(path`/events`, rest, options)
        // The document leaves `data` open; what each type holds is told by asyncapi.json.
        return { items: items as readonly EventRecord[], next }
      },
      { ...query, types: types?.join(',') },
      'after',
    ),
  follow: (query = {}, options = {}) => followEvents(transport, query, options),
})
