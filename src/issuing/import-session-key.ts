import { Problem } from '../errors.ts'
import type { DeviceSeal, SessionSealed } from '../hsm/hsm.ts'
import { glanceAtCard } from '../storage/cards.ts'
import { refuseClosed } from './held-card.ts'
import type { Caller, Issuing } from './issuing.ts'
import { refuseUsedUp, spendUse } from './limit.ts'
import { revealablePin } from './revealable-pin.ts'

/** A session key that is to be taken in, and for what. */
export interface SessionKeyQuestion {
  readonly publicToken: string
  readonly includePin: boolean
  readonly key: string
}

/**
 * Takes in a session key, when all that costs less than looking at it is in order.
 * @throws `Problem` `card_not_found`, `rate_limited`, `card_closed`, `pin_not_revealable`;
 * `invalid_session_key`, whatever is wrong with it, when that has been counted.
 */
export const importSessionKey = (
  issuing: Issuing,
  caller: Caller,
  question: SessionKeyQuestion,
): Promise<DeviceSeal<SessionSealed>> =>
  // The limits are looked at within the turn: of many at once, few see a use that another one spends.
  issuing.sessionKeyTurns.take(caller.clientId, async () => {
    await refuseAtAGlance(issuing, caller, question)
    return (
      (await issuing.hsm.importSessionKey(question.key)) ?? refuseKey(issuing, caller, question)
    )
  })

/** Holds nothing: what is found in order here is looked at again when the disclosure is recorded. */
async function refuseAtAGlance(
  issuing: Issuing,
  { clientId }: Caller,
  { includePin, publicToken }: SessionKeyQuestion,
): Promise<void> {
  const { database, limits } = issuing
  const card = await glanceAtCard(database, publicToken, clientId)
  if (!card) throw new Problem('card_not_found')
  await refuseUsedUp(database, 'card', publicToken, limits.revealsPerCard)
  await refuseUsedUp(database, 'card', publicToken, limits.badSessionKeysPerCard)
  await refuseUsedUp(database, 'client', clientId, limits.revealsPerClient)
  await refuseUsedUp(database, 'client', clientId, limits.badSessionKeysPerClient)
  refuseClosed(issuing, card)
  if (includePin) revealablePin(card)
}

/** Counted, and committed, before it is told. */
async function refuseKey(
  { database, limits }: Issuing,
  { clientId }: Caller,
  { publicToken }: SessionKeyQuestion,
): Promise<never> {
  await spendUse(database, 'card', publicToken, limits.badSessionKeysPerCard)
  await spendUse(database, 'client', clientId, limits.badSessionKeysPerClient)
  throw new Problem('invalid_session_key')
}
