import { dateOf } from '../../domain/calendar.ts'
import { allowedMoves, type CardStatusCode, mayMove } from '../../domain/card-status.ts'
import { Problem } from '../../domain/problem.ts'
import { expireCards, updateCardStatus } from '../../storage/cards/changes.ts'
import type { EventType, NewEvent } from '../../storage/events/events.ts'
import { pruneIdempotencyRecords } from '../../storage/idempotency/idempotency.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import {
  type CardOperations,
  type ChangeNote,
  lockOwnCard,
  type Requester,
  statusNow,
} from './cards.ts'

/**
 * Moves a card to another status. To set the one that it has changes and tells nothing.
 * @throws `Problem` `card_not_found`; `card_status_conflict`, naming the moves that are allowed.
 */
export const changeCardStatus = (
  issuing: CardOperations,
  caller: Requester,
  publicToken: string,
  to: CardStatusCode,
  note: ChangeNote,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  once(issuing, request, async (connection) => {
    const from = statusNow(issuing, await lockOwnCard(connection, caller, publicToken))
    if (from === to) return null
    if (!mayMove(from, to)) throw statusConflict(from, to)
    const event = await changeEvent(issuing, caller, publicToken, 'card.status_changed', {
      details: { from, to },
      note,
    })
    await updateCardStatus(connection, event, to)
    return null
  })

function statusConflict(from: CardStatusCode, to: CardStatusCode): Problem {
  const allowed = allowedMoves(from)
  const offer = allowed.length > 0 ? `may become ${allowed.join(', ')}` : 'is final'
  return new Problem('card_status_conflict', {
    detail: `The card has status ${from}, which ${offer}; it cannot become ${to}.`,
  })
}

/** The event of a change, with the client's note sealed beside it. */
export async function changeEvent(
  { hsm }: Pick<CardOperations, 'hsm'>,
  caller: Requester,
  publicToken: string,
  type: EventType,
  { details = {}, note = {} }: { details?: NewEvent['details']; note?: ChangeNote } = {},
): Promise<NewEvent> {
  const isNoted = note.description !== undefined || note.updatedBy !== undefined
  return {
    publicToken,
    type,
    requestId: caller.requestId,
    details,
    note: isNoted ? await hsm.sealRecord('note', publicToken, JSON.stringify(note)) : null,
  }
}

/** Rows changed at a time, so that a sweep holds nobody up. */
const stepSize = 100

/**
 * Writes the one event of each card that expired, and forgets old idempotency keys, in small steps.
 * Any number of processes may sweep at once.
 * @param stop ends it between two steps: the next sweep goes on from there.
 */
export async function sweep(
  { database, now }: Pick<CardOperations, 'database' | 'now'>,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const today = dateOf(now())
  await untilDone(stop, () => expireCards(database, today, stepSize))
  await untilDone(stop, () => pruneIdempotencyRecords(database, stepSize))
}

async function untilDone(stop: AbortSignal, step: () => Promise<number>): Promise<void> {
  while (!stop.aborted && (await step()) > 0);
}
