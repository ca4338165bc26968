import { formatDate } from '../../domain/calendar.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import * as stored from '../../storage/cards/replacements.ts'
import type { ClaimFor } from '../idempotency/idempotency.ts'
import type { CardActor, CardContext, ChangeNote } from './cards.ts'

/**
 * Activates the successor of a replaced card, which retires the cards before it. If the PIN that it
 * has from one of them was changed there since, or another of them is in use, it gets the PIN of
 * the card in use.
 * @returns whether it was done: not if what it depends on was changed meanwhile.
 */
export async function activateSuccessor(
  context: CardContext,
  actor: CardActor,
  { note, publicToken }: { readonly publicToken: PublicToken; readonly note: ChangeNote },
  claimFor: ClaimFor<null>,
): Promise<boolean> {
  const { database, hsm } = context
  const today = formatDate(context.now())
  const successor = await stored.findCardOfLine(database, publicToken, actor.clientId)
  if (!successor) throw new Problem('card_not_found')
  const isNoted = note.description !== undefined || note.updatedBy !== undefined
  const pinSourceToken = await stored.findPinSource(database, successor)
  const changedPin = await findChangedPin(context, actor, successor, pinSourceToken)
  return stored.activateSuccessor(database, {
    successor,
    clientId: actor.clientId,
    today,
    pinSourceToken,
    changedPin,
    requestId: actor.requestId,
    note: isNoted ? await hsm.sealRecord('note', publicToken, JSON.stringify(note)) : null,
    operatorId: actor.operatorId ?? null,
    claim: await claimFor(null),
  })
}

/** Carries the PIN again if it was changed on its card since. */
async function findChangedPin(
  { database, hsm }: CardContext,
  { clientId }: CardActor,
  successor: stored.CardOfLine,
  pinSourceToken: PublicToken | null,
): Promise<stored.Activation['changedPin']> {
  if (pinSourceToken === null) return null
  const source = await stored.findCardOfLine(database, pinSourceToken, clientId)
  if (!source?.pinBlock) throw new Error('A carried PIN has lost its card.')
  const isSame = pinSourceToken === successor.pinSourceToken
  if (isSame && source.pinVersion === successor.carriedPinVersion) return null
  const { pinBlock, pinKey } = source
  const pin = await hsm.translatePin(source, { pinBlock, pvv: null, pinKey }, successor)
  return { version: source.pinVersion, pinBlock: pin.pinBlock, pinKey: pin.pinKey }
}
