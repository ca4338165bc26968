import { CallFailed } from '../errors/call-failed.ts'
import type { QueryValues } from './transport.ts'

export interface Page<Item> {
  readonly items: readonly Item[]
  /** What leads to the next page: `cursor` of the next call, or `after` for events. Null on the last. */
  readonly next: string | null
}

/**
 * A list that has not been asked for yet. `for await` reads it page by page, as far as it is read.
 *
 * ```ts
 * for await (const card of pinfold.cards.list({ cardStatusCode: '00' })) show(card)
 * ```
 */
export interface Listing<Item> extends AsyncIterable<Item> {
  /** One page, as for a screen with a button “more”. */
  page(): Promise<Page<Item>>
}

type ReadPage<Item> = (
  query: QueryValues,
) => Promise<{ readonly items: readonly Item[]; readonly next: QueryValues | null }>

/** @param continuation the parameter that leads to the next page. */
export function listing<Item>(
  read: ReadPage<Item>,
  query: QueryValues,
  continuation: 'cursor' | 'after' = 'cursor',
): Listing<Item> {
  const readPage: ReadPage<Item> = async (from) => {
    const page = await read(from)
    const place = page.next?.[continuation]
    // A page that leads nowhere, or to itself, would be read for ever.
    if (page.next !== null && (place === undefined || place === from[continuation])) {
      throw new CallFailed('unexpected_answer')
    }
    return page
  }
  return {
    async page() {
      const { items, next } = await readPage(query)
      return { items, next: next === null ? null : String(next[continuation]) }
    },
    async *[Symbol.asyncIterator]() {
      let rest: QueryValues | null = query
      while (rest !== null) {
        const page: Awaited<ReturnType<ReadPage<Item>>> = await readPage(rest)
        yield* page.items
        rest = page.next
      }
    },
  }
}
