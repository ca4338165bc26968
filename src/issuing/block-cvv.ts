import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { spendAllTries } from '../storage/card-changes.ts'
import { changeEvent } from './change-event.ts'
import { holdCard, refuseClosed } from './held-card.ts'
import type { Caller, ChangeNote, Issuing } from './issuing.ts'

/**
 * Blocks a card's CVV at the client's word, at once and until it is unblocked.
 * @throws `Problem` `card_not_found`, `card_closed`.
 */
export const blockCvv = (
  issuing: Issuing,
  caller: Caller,
  publicToken: string,
  note: ChangeNote,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  once(issuing, request, async (connection) => {
    refuseClosed(issuing, await holdCard(connection, caller, publicToken))
    const event = await changeEvent(issuing, caller, publicToken, 'cvv.blocked', {
      details: { blockedBy: 'client' },
      note,
    })
    await spendAllTries(connection, event, 'cvv')
    return null
  })
