import { formatDate, toExpiry } from '../../domain/calendar.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import type { StoredPin } from '../../hsm/contract/card.ts'
import * as stored from '../../storage/cards/replacements.ts'
import {
  type CardActor,
  type CardContext,
  type ChangeNote,
  findOwnCard,
  sealNote,
} from './cards.ts'
import { revealPersonalData } from './personal-data.ts'
import { refuseReturned } from './renewal-rules.ts'
import { findUnblockLimit } from './tries.ts'

/**
 * Activates the successor of a replaced card, which retires the cards before it. If the PIN that it
 * has from one of them was changed there since, or another of them is in use, it gets the PIN of
 * the card in use; or a new one, if that card was stolen.
 * @returns whether it was done: not if what it depends on was changed meanwhile.
 * @throws `Problem` `nothing_to_migrate` if its plastic was returned: the card in use works on.
 */
export async function activateSuccessor(
  context: CardContext,
  actor: CardActor,
  { note, publicToken }: { readonly publicToken: PublicToken; readonly note: ChangeNote },
  claim: stored.Activation['claim'],
): Promise<boolean> {
  const { database } = context
  const today = formatDate(context.now())
  const successor = await stored.findCardOfLine(database, publicToken, actor.clientId)
  if (!successor) throw new Problem('card_not_found')
  refuseReturned(successor)
  const pinSourceToken = await stored.findPinSource(database, successor)
  const changedPin = await findChangedPin(context, actor, successor, pinSourceToken)
  return stored.activateSuccessor(database, {
    successor,
    clientId: actor.clientId,
    today,
    pinSourceToken,
    changedPin,
    unblockLimit: findUnblockLimit(context, 'pin'),
    requestId: actor.requestId,
    note: await sealNote(context, publicToken, note),
    operatorId: actor.operatorId ?? null,
    claim,
  })
}

/**
 * Carries the PIN again if it was changed on its card since. If that card was stolen meanwhile, its
 * thief may know the PIN: the successor gets a new one, unless the client asked for the old.
 */
async function findChangedPin(
  context: CardContext,
  actor: CardActor,
  successor: stored.CardOfLine,
  pinSourceToken: PublicToken | null,
): Promise<stored.ChangedPin | null> {
  const { database, hsm } = context
  if (pinSourceToken === null) return null
  const source = await stored.findCardOfLine(database, pinSourceToken, actor.clientId)
  if (!source?.pinBlock) throw new Error('A carried PIN has lost its card.')
  const { pinBlock, pinKey, pinVersion: version } = source
  if (source.statusCode === '43' && !(await stored.isPinRequested(database, successor))) {
    return { version, isNew: true, pin: await generatePin(context, actor, successor) }
  }
  const isSame = pinSourceToken === successor.pinSourceToken
  if (isSame && version === successor.carriedPinVersion) return null
  const pin = await hsm.translatePin(source, { pinBlock, pvv: null, pinKey }, successor)
  return { version, isNew: false, pin }
}

async function generatePin(
  context: CardContext,
  actor: CardActor,
  { expiryDate, personalData, publicToken }: stored.CardOfLine,
): Promise<StoredPin> {
  const card = await findOwnCard(context, actor, publicToken)
  const { cardHolder } = await revealPersonalData(context.hsm, publicToken, personalData)
  const { dateOfBirth } = cardHolder
  return context.hsm.generatePin(card, { ...card, expiry: toExpiry(expiryDate), dateOfBirth })
}
