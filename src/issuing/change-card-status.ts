import { allowedMoves, type CardStatusCode, mayMove } from '../domain/card-status.ts'
import { Problem } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { setCardStatus } from '../storage/card-changes.ts'
import { changeEvent } from './change-event.ts'
import { holdCard, statusNow } from './held-card.ts'
import type { Caller, ChangeNote, Issuing } from './issuing.ts'

/**
 * Moves a card to another status. To set the one that it has changes and tells nothing.
 * @throws `Problem` `card_not_found`; `card_status_conflict`, naming the moves that are allowed.
 */
export const changeCardStatus = (
  issuing: Issuing,
  caller: Caller,
  publicToken: string,
  to: CardStatusCode,
  note: ChangeNote,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  once(issuing, request, async (connection) => {
    const from = statusNow(issuing, await holdCard(connection, caller, publicToken))
    if (from === to) return null
    if (!mayMove(from, to)) throw statusConflict(from, to)
    const event = await changeEvent(issuing, caller, publicToken, 'card.status_changed', {
      details: { from, to },
      note,
    })
    await setCardStatus(connection, event, to)
    return null
  })

function statusConflict(from: CardStatusCode, to: CardStatusCode): Problem {
  const allowed = allowedMoves(from)
  const offer = allowed.length > 0 ? `may become ${allowed.join(', ')}` : 'is final'
  return new Problem('card_status_conflict', {
    detail: `The card has status ${from}, which ${offer}; it cannot become ${to}.`,
  })
}
