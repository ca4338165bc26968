import type { Pin } from '../domain/pin.ts'
import { disclose } from './disclose.ts'
import type { Caller, Issuing } from './issuing.ts'
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
  const card = await disclose(issuing, caller, {
    publicToken,
    includesPin: true,
    type: 'pin.revealed',
    details: { clientId: caller.clientId, requestId: caller.requestId },
  })
  return issuing.hsm.revealPin(card, revealablePin(card))
}
