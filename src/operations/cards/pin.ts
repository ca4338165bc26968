import { formatDate, toExpiry } from '../../domain/calendar.ts'
import type { Requester } from '../../domain/client.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { Pin } from '../../domain/pin.ts'
import { Problem, validationFailed } from '../../domain/problem.ts'
import type { NewPinRules } from '../../hsm/contract/card.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import type { CardWithProduct } from '../../storage/cards/cards.ts'
import { hasPinEnvelope, type NewPin, updatePin } from '../../storage/cards/changes.ts'
import { type Answer, commitOnce, type RepeatableRequest } from '../idempotency/idempotency.ts'
import * as cards from './cards.ts'
import { disclose, revealablePin } from './disclosures.ts'
import { revealPersonalData } from './personal-data.ts'

/** A PIN that the cardholder chose. */
export type ChosenPin =
  /** In clear, with the JSON Pointer (RFC 6901) of its member in the request. */
  | { readonly pin: Pin; readonly pointer: string }
  /** In an envelope that the device sealed. */
  | { readonly encryptedPin: string }

/** A card's new PIN. */
interface PinChange {
  readonly publicToken: PublicToken
  readonly chosen: ChosenPin
  readonly note: cards.ChangeNote
}

/**
 * Sets a card's PIN. The tries do not change. If the card has a chip, a command that changes the
 * PIN in the chip is queued.
 * @throws `Problem` `card_not_found`, `card_closed`, `validation_failed` if the product requires
 *   another length, `weak_pin`; `invalid_encrypted_pin`, whatever is wrong with an envelope.
 */
export const setPin = (
  context: cards.CardContext,
  requester: Requester,
  { chosen, note, publicToken }: PinChange,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  commitOnce<null>(context, request, async (claimFor) => {
    const { database, hsm } = context
    const card = await cards.findOwnCard(context, requester, publicToken)
    cards.refuseClosed(context, card)
    const { cardHolder } = await revealPersonalData(hsm, publicToken, card.personalData)
    const { dateOfBirth } = cardHolder
    const rules: NewPinRules = { ...card, expiry: toExpiry(card.expiryDate), dateOfBirth }
    const pin =
      'pin' in chosen
        ? await importPin(hsm, card, rules, chosen)
        : await importEncryptedPin(hsm, card, rules, chosen.encryptedPin)
    const event = await cards.changeEvent(context, requester, {
      publicToken,
      type: 'pin.set',
      note,
    })
    const act = { clientId: requester.clientId, event, claim: await claimFor(null) }
    const isDone = await updatePin(database, act, formatDate(context.now()), pin)
    if (!isDone && (await hasPinEnvelope(database, publicToken, pin.envelope))) {
      throw new Problem('invalid_encrypted_pin')
    }
    return { isDone, result: null }
  })

async function importPin(
  hsm: Hsm,
  card: CardWithProduct,
  rules: NewPinRules,
  { pin, pointer }: Extract<ChosenPin, { pin: Pin }>,
): Promise<NewPin> {
  if (pin.length !== card.pinLength) {
    throw validationFailed({ pointer, detail: `must have ${card.pinLength} digits` })
  }
  const imported = await hsm.importPin(card, rules, pin)
  if (imported.pin) return { ...imported.pin, chipPin: imported.chipPin, envelope: null }
  const detail = imported.weakness
  throw new Problem('weak_pin', { detail, errors: [{ pointer, detail }] })
}

/** States only that the PIN is weak, because the requester must not learn more about it. */
async function importEncryptedPin(
  hsm: Hsm,
  card: CardWithProduct,
  rules: NewPinRules,
  encryptedPin: string,
): Promise<NewPin> {
  // The device dates the envelope by its own clock, so this is the machine's clock.
  const imported = await hsm.importEncryptedPin(card, rules, encryptedPin, new Date())
  if (imported.refusal === 'weak_pin') throw new Problem('weak_pin')
  if (imported.refusal !== null) throw new Problem('invalid_encrypted_pin')
  return { ...imported.pin, chipPin: imported.chipPin, envelope: imported.envelope }
}

/** A PIN, and the audit log entry of its disclosure. */
interface RevealedPin {
  readonly pin: Pin
  readonly entryId: string
}

/**
 * Reveals a card's PIN in clear. The disclosure is recorded before the PIN leaves.
 * @throws `Problem` `card_not_found`, `rate_limited`, `card_closed`, `pin_not_revealable`.
 */
export async function revealPin(
  context: cards.CardContext,
  requester: Requester,
  publicToken: PublicToken,
): Promise<RevealedPin> {
  const { clientId, requestId } = requester
  const { card, entryId } = await disclose(context, requester, {
    publicToken,
    includesPin: true,
    type: 'pin.revealed',
    details: { clientId, requestId },
  })
  return { pin: await context.hsm.revealPin(card, revealablePin(card)), entryId }
}
