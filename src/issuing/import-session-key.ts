import { Problem } from '../errors.ts'
import type { DeviceSeal, SessionSealed } from '../hsm/hsm.ts'
import { refuseDisclosure } from './disclose.ts'
import type { Caller, Issuing } from './issuing.ts'
import { spendUse } from './limit.ts'

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
    // Nothing is held: what is in order here is looked at again when the disclosure is recorded.
    const { includePin: includesPin, publicToken } = question
    const { badSessionKeys, reveals } = issuing.limits
    await refuseDisclosure(issuing, caller, { includesPin, publicToken }, [reveals, badSessionKeys])
    return (
      (await issuing.hsm.importSessionKey(question.key)) ?? refuseKey(issuing, caller, question)
    )
  })

/** Counted, and committed, before it is told: for the card and its client, or for neither. */
async function refuseKey(
  { database, limits }: Issuing,
  { clientId }: Caller,
  { publicToken }: SessionKeyQuestion,
): Promise<never> {
  const { perCard = null, perClient = null } = limits.badSessionKeys ?? {}
  await database.transaction(async (connection) => {
    await spendUse(connection, 'card', publicToken, perCard)
    await spendUse(connection, 'client', clientId, perClient)
  })
  throw new Problem('invalid_session_key')
}
