import { expiryOfDate } from '../domain/expiry.ts'
import type { Pin } from '../domain/pin.ts'
import { Problem, validationFailed } from '../errors.ts'
import type { StoredPin } from '../hsm/hsm.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { setPin as storePin } from '../storage/card-changes.ts'
import type { LockedCard } from '../storage/cards.ts'
import { changeEvent } from './change-event.ts'
import { holdCard, refuseClosed } from './held-card.ts'
import type { Caller, ChangeNote, Issuing } from './issuing.ts'
import { revealPersonalData } from './personal-data.ts'

/** A PIN that the cardholder chose, and where in the request it stood. */
export interface ChosenPin {
  readonly pin: Pin
  /** JSON Pointer (RFC 6901). */
  readonly pointer: string
}

/**
 * Sets a card's PIN. The tries stay as they are.
 * @throws `Problem` `card_not_found`, `card_closed`, `validation_failed` when the product wants
 * another length, `weak_pin`.
 */
export const setPin = (
  issuing: Issuing,
  caller: Caller,
  publicToken: string,
  chosen: ChosenPin,
  note: ChangeNote,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  once(issuing, request, async (connection) => {
    const card = await holdCard(connection, caller, publicToken)
    refuseClosed(issuing, card)
    const pin = await importPin(issuing, card, chosen)
    await storePin(
      connection,
      await changeEvent(issuing, caller, publicToken, 'pin.set', { note }),
      pin,
    )
    return null
  })

async function importPin(
  { hsm }: Issuing,
  card: LockedCard,
  { pin, pointer }: ChosenPin,
): Promise<StoredPin> {
  if (pin.length !== card.pinLength) {
    throw validationFailed({ pointer, detail: `must have ${card.pinLength} digits` })
  }
  const { cardHolder } = await revealPersonalData(hsm, card.publicToken, card.personalData)
  const imported = await hsm.importPin(
    card,
    { ...card, expiry: expiryOfDate(card.expiryDate), dateOfBirth: cardHolder.dateOfBirth },
    pin,
  )
  if (imported.pin) return imported.pin
  const detail = imported.weakness
  throw new Problem('weak_pin', { detail, errors: [{ pointer, detail }] })
}
