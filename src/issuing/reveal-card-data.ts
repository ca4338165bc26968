import { expiryOfDate } from '../domain/expiry.ts'
import { validationFailed } from '../errors.ts'
import type { DeviceKeyJwk, DeviceSeal, SessionSealed } from '../hsm/hsm.ts'
import type { LockedCard } from '../storage/cards.ts'
import type { Connection } from '../storage/database.ts'
import { recordEvent } from '../storage/events.ts'
import { changeEvent } from './change-event.ts'
import { holdCard, refuseClosed } from './held-card.ts'
import { importSessionKey } from './import-session-key.ts'
import type { Caller, Issuing } from './issuing.ts'
import { spendUse } from './limit.ts'
import { revealablePin } from './revealable-pin.ts'

/** What a device gave to have card data sealed to, and what is asked for. */
export type CardDataQuestion = {
  readonly publicToken: string
  readonly includePin: boolean
} & (
  | { readonly form: 'sessionKey'; readonly key: string }
  | {
      readonly form: 'deviceKey'
      readonly deviceKey: DeviceKeyJwk
      readonly nonce: string
      readonly issuer: string
    }
)

/** Card data that only the device can open. */
export type SealedCardData = { readonly sessionSealed: SessionSealed } | { readonly jwe: string }

/**
 * A card's data, sealed to the device's key. That it was told is on record before it leaves.
 * @throws `Problem` `validation_failed` for a device's key that is none; `card_not_found`,
 * `rate_limited`, `card_closed`, `pin_not_revealable`; `invalid_session_key`, whatever is wrong with it.
 */
export async function revealCardData(
  issuing: Issuing,
  caller: Caller,
  question: CardDataQuestion,
): Promise<SealedCardData> {
  // Before the card is held: it takes as long as it takes, whatever comes of it.
  const seal = await importKey(issuing, caller, question)
  const card = await issuing.database.transaction((connection) =>
    recordDisclosure(issuing, connection, caller, question),
  )
  return seal({
    card,
    cvk: card.cvk,
    expiry: expiryOfDate(card.expiryDate),
    pin: question.includePin ? revealablePin(card) : null,
    // The device holds it against its own clock, so this is the machine's.
    at: new Date(),
  })
}

type Seal = (disclosure: Parameters<DeviceSeal<unknown>['seal']>[0]) => Promise<SealedCardData>

async function importKey(
  issuing: Issuing,
  caller: Caller,
  question: CardDataQuestion,
): Promise<Seal> {
  if (question.form === 'sessionKey') {
    const session = await importSessionKey(issuing, caller, question)
    return async (given) => ({ sessionSealed: await session.seal(given) })
  }
  const { deviceKey, issuer, nonce } = question
  const device = await issuing.hsm.importDeviceKey(deviceKey, { issuer, nonce })
  if (!device) throw validationFailed({ pointer: '/deviceKey', detail: noDeviceKey })
  return async (given) => ({ jwe: await device.seal(given) })
}

const noDeviceKey = 'must be a public key on P-256 or X25519'

async function recordDisclosure(
  issuing: Issuing,
  connection: Connection,
  caller: Caller,
  { form, includePin, publicToken }: CardDataQuestion,
): Promise<LockedCard> {
  const card = await holdCard(connection, caller, publicToken)
  await spendUse(connection, 'card', publicToken, issuing.limits.revealsPerCard)
  await spendUse(connection, 'client', caller.clientId, issuing.limits.revealsPerClient)
  refuseClosed(issuing, card)
  if (includePin) revealablePin(card)
  const { clientId, requestId } = caller
  const event = await changeEvent(issuing, caller, publicToken, 'card_data.revealed', {
    details: { clientId, requestId, form, includePin },
  })
  await recordEvent(connection, event)
  return card
}
