import type { TryKind } from '../domain/tries.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { restoreTries } from '../storage/card-changes.ts'
import { changeEvent } from './change-event.ts'
import { holdCard, refuseClosed } from './held-card.ts'
import type { Caller, ChangeNote, Issuing } from './issuing.ts'
import { spendUse } from './limit.ts'

/**
 * Unblocks a card's PIN or CVV: all tries are there again, whether or not they were used up. It is
 * told even if nothing moved, because it is an act to audit.
 * @throws `Problem` `card_not_found`, `rate_limited`, `card_closed`.
 */
export const unblock = (
  issuing: Issuing,
  caller: Caller,
  publicToken: string,
  kind: TryKind,
  note: ChangeNote,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  once(issuing, request, async (connection) => {
    const card = await holdCard(connection, caller, publicToken)
    await spendUse(connection, 'card', publicToken, unblockLimit(issuing, kind))
    refuseClosed(issuing, card)
    const event = await changeEvent(issuing, caller, publicToken, `${kind}.unblocked`, { note })
    await restoreTries(connection, event, kind)
    return null
  })

function unblockLimit({ limits: { unblocksPerCard } }: Issuing, kind: TryKind) {
  return unblocksPerCard && { ...unblocksPerCard, limitName: `unblock-${kind}` }
}
