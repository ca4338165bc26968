import type { TryKind } from '../../domain/tries.ts'
import { restoreTries, spendAllTries } from '../../storage/cards/changes.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import {
  type CardOperations,
  type ChangeNote,
  lockOwnCard,
  type Requester,
  refuseClosed,
} from './cards.ts'
import { changeEvent } from './change-status.ts'
import { spendUse } from './limits.ts'

/**
 * Unblocks a card's PIN or CVV: all tries are there again, whether or not they were used up. It is
 * told even if nothing moved, because it is an act to audit.
 * @throws `Problem` `card_not_found`, `rate_limited`, `card_closed`.
 */
export const unblock = (
  issuing: CardOperations,
  caller: Requester,
  publicToken: string,
  kind: TryKind,
  note: ChangeNote,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  once(issuing, request, async (connection) => {
    const card = await lockOwnCard(connection, caller, publicToken)
    await spendUse(connection, 'card', publicToken, unblockLimit(issuing, kind))
    refuseClosed(issuing, card)
    const event = await changeEvent(issuing, caller, publicToken, `${kind}.unblocked`, { note })
    await restoreTries(connection, event, kind)
    return null
  })

function unblockLimit({ limits: { unblocksPerCard } }: CardOperations, kind: TryKind) {
  return unblocksPerCard && { ...unblocksPerCard, limitName: `unblock-${kind}` }
}

/**
 * Blocks a card's CVV at the client's word, at once and until it is unblocked.
 * @throws `Problem` `card_not_found`, `card_closed`.
 */
export const blockCvv = (
  issuing: CardOperations,
  caller: Requester,
  publicToken: string,
  note: ChangeNote,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  once(issuing, request, async (connection) => {
    refuseClosed(issuing, await lockOwnCard(connection, caller, publicToken))
    const event = await changeEvent(issuing, caller, publicToken, 'cvv.blocked', {
      details: { blockedBy: 'client' },
      note,
    })
    await spendAllTries(connection, event, 'cvv')
    return null
  })
