import { setImmediate as turnOfOthers } from 'node:timers/promises'
import { dateOf } from '../domain/calendar.ts'
import {
  type CardFilter,
  type CardPosition,
  listCards as listStoredCards,
} from '../storage/card-lists.ts'
import type { CardWithTries } from '../storage/cards.ts'
import { type CardRecord, cardRecord } from './card-record.ts'
import type { Caller, Issuing } from './issuing.ts'

export type { CardPosition }

/** One page of cards, and where the next one begins if there is one. */
export interface CardPage {
  readonly cards: readonly CardRecord[]
  readonly next: CardPosition | null
}

/** One page of the caller's cards, newest first. */
export async function listCards(
  issuing: Issuing,
  caller: Caller,
  filter: Omit<CardFilter, 'today'>,
): Promise<CardPage> {
  const today = dateOf(issuing.now())
  // One more than asked for tells whether there is a next page.
  const rows = await listStoredCards(issuing.database, caller.clientId, {
    ...filter,
    today,
    limit: filter.limit + 1,
  })
  const page = rows.slice(0, filter.limit)
  const last = rows.length > filter.limit ? page.at(-1) : undefined
  return {
    cards: await openRecords(issuing, page),
    next: last ? { createdAt: last.position, publicToken: last.publicToken } : null,
  }
}

/** A hundred would keep whoever else has an answer coming waiting for several milliseconds. */
const recordsATurn = 10

async function openRecords(issuing: Issuing, rows: readonly CardWithTries[]) {
  const records: CardRecord[] = []
  for (let from = 0; from < rows.length; from += recordsATurn) {
    if (from > 0) await turnOfOthers()
    const turn = rows.slice(from, from + recordsATurn)
    records.push(...(await Promise.all(turn.map((row) => cardRecord(issuing, row)))))
  }
  return records
}
