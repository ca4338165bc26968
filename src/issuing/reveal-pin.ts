import type { Pin } from '../domain/pin.ts'
import { recordEvent } from '../storage/events.ts'
import { changeEvent } from './change-event.ts'
import { holdCard, refuseClosed } from './held-card.ts'
import type { Caller, Issuing } from './issuing.ts'
import { spendUse } from './limit.ts'
import { revealablePin } from './revealable-pin.ts'

/**
 * A card's PIN in clear. That it was told is on record before it leaves.
 * @throws `Problem` `card_not_found`, `rate_limited`, `card_closed`, `pin_not_revealable`.
 */
export async function revealPin(
  issuing: Issuing,
  caller: Caller,
  publicToken: string,
): Promise<Pin> {
  const { card, pin } = await issuing.database.transaction(async (connection) => {
    const held = await holdCard(connection, caller, publicToken)
    await spendUse(connection, 'card', publicToken, issuing.limits.revealsPerCard)
    await spendUse(connection, 'client', caller.clientId, issuing.limits.revealsPerClient)
    refuseClosed(issuing, held)
    const stored = revealablePin(held)
    const details = { clientId: caller.clientId, requestId: caller.requestId }
    await recordEvent(
      connection,
      await changeEvent(issuing, caller, publicToken, 'pin.revealed', { details }),
    )
    return { card: held, pin: stored }
  })
  return issuing.hsm.revealPin(card, pin)
}
