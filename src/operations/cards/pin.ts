import { expiryOfDate } from '../../domain/calendar.ts'
import type { Pin } from '../../domain/pin.ts'
import { Problem, validationFailed } from '../../domain/problem.ts'
import type { PinRules, StoredPin } from '../../hsm/contract/hsm.ts'
import type { LockedCard } from '../../storage/cards/cards.ts'
import { rememberPinEnvelope, updatePin as storePin } from '../../storage/cards/changes.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import {
  type CardOperations,
  type ChangeNote,
  lockOwnCard,
  type Requester,
  refuseClosed,
} from './cards.ts'
import { changeEvent } from './change-status.ts'
import { revealPersonalData } from './create-card.ts'
import { disclose } from './limits.ts'

/** A PIN that the cardholder chose. */
export type ChosenPin =
  /** In clear, with the JSON Pointer (RFC 6901) of where in the request it stood. */
  | { readonly pin: Pin; readonly pointer: string }
  /** In an envelope that was sealed on the device. */
  | { readonly encryptedPin: string }

/**
 * Sets a card's PIN. The tries stay as they are.
 * @throws `Problem` `card_not_found`, `card_closed`, `validation_failed` when the product wants
 * another length, `weak_pin`; `invalid_encrypted_pin`, whatever is wrong with an envelope.
 */
export const setPin = (
  issuing: CardOperations,
  caller: Requester,
  publicToken: string,
  chosen: ChosenPin,
  note: ChangeNote,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  once(issuing, request, async (connection) => {
    const card = await lockOwnCard(connection, caller, publicToken)
    refuseClosed(issuing, card)
    const rules = await rulesOf(issuing, card)
    const pin =
      'pin' in chosen
        ? await importPin(issuing, card, rules, chosen)
        : await importEncryptedPin(issuing, connection, card, rules, chosen.encryptedPin)
    await storePin(
      connection,
      await changeEvent(issuing, caller, publicToken, 'pin.set', { note }),
      pin,
    )
    return null
  })

/** What the card's product, and the card, ask of its PIN. */
async function rulesOf({ hsm }: CardOperations, card: LockedCard): Promise<PinRules> {
  const { cardHolder } = await revealPersonalData(hsm, card.publicToken, card.personalData)
  const { dateOfBirth } = cardHolder
  return { ...card, expiry: expiryOfDate(card.expiryDate), dateOfBirth }
}

async function importPin(
  { hsm }: CardOperations,
  card: LockedCard,
  rules: PinRules,
  { pin, pointer }: Extract<ChosenPin, { pin: Pin }>,
): Promise<StoredPin> {
  if (pin.length !== card.pinLength) {
    throw validationFailed({ pointer, detail: `must have ${card.pinLength} digits` })
  }
  const imported = await hsm.importPin(card, rules, pin)
  if (imported.pin) return imported.pin
  const detail = imported.weakness
  throw new Problem('weak_pin', { detail, errors: [{ pointer, detail }] })
}

/** Nothing is told of the PIN but that it is weak: the caller is not meant to know it. */
async function importEncryptedPin(
  { hsm }: CardOperations,
  connection: Connection,
  card: LockedCard,
  rules: PinRules,
  encryptedPin: string,
): Promise<StoredPin> {
  // The device dates the envelope by its own clock, so this is the machine's.
  const imported = await hsm.importEncryptedPin(card, rules, encryptedPin, new Date())
  if (imported.refusal === 'weak_pin') throw new Problem('weak_pin')
  if (imported.refusal !== null) throw new Problem('invalid_encrypted_pin')
  const { publicToken } = card
  const isNew = await rememberPinEnvelope(connection, { publicToken, ...imported.envelope })
  if (!isNew) throw new Problem('invalid_encrypted_pin')
  return imported.pin
}

/**
 * A card's PIN in clear. That it was told is on record before it leaves.
 * @throws `Problem` `card_not_found`, `rate_limited`, `card_closed`, `pin_not_revealable`.
 */
export async function revealPin(
  issuing: CardOperations,
  caller: Requester,
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

/** A card's PIN where it is kept to be shown. @throws `Problem` `pin_not_revealable`. */
export function revealablePin({ pinBlock, pinKey }: KeptPin): StoredPin {
  if (!pinBlock) throw new Problem('pin_not_revealable')
  return { pinBlock, pvv: null, pinKey }
}

interface KeptPin {
  readonly pinBlock: Uint8Array | null
  readonly pinKey: string
}
