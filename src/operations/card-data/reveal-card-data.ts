import { expiryOfDate } from '../../domain/calendar.ts'
import { validationFailed } from '../../domain/problem.ts'
import type { DeviceKeyJwk, DeviceSeal, SessionSealed } from '../../hsm/contract/hsm.ts'
import type { CardOperations, Requester } from '../cards/cards.ts'
import { disclose } from '../cards/limits.ts'
import { revealablePin } from '../cards/pin.ts'
import { importSessionKey } from './session-key.ts'

/** What a device gave to have card data sealed to, and what is asked for. */
export type CardDataRequest = {
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
type SealedCardData = { readonly sessionSealed: SessionSealed } | { readonly jwe: string }

/**
 * A card's data, sealed to the device's key. That it was told is on record before it leaves.
 * @throws `Problem` `validation_failed` for a device's key that is none; `card_not_found`,
 * `rate_limited`, `card_closed`, `pin_not_revealable`; `invalid_session_key`, whatever is wrong with it.
 */
export async function revealCardData(
  issuing: CardOperations,
  caller: Requester,
  question: CardDataRequest,
): Promise<SealedCardData> {
  // Before anything is recorded: it takes as long as it takes, and may come to nothing.
  const seal = await importKey(issuing, caller, question)
  const { form, includePin, publicToken } = question
  const { clientId, requestId } = caller
  const card = await disclose(issuing, caller, {
    publicToken,
    includesPin: includePin,
    type: 'card_data.revealed',
    details: { clientId, requestId, form, includePin },
  })
  return seal({
    card,
    cvk: card.cvk,
    expiry: expiryOfDate(card.expiryDate),
    pin: includePin ? revealablePin(card) : null,
    // The device holds it against its own clock, so this is the machine's.
    at: new Date(),
  })
}

type Seal = (disclosure: Parameters<DeviceSeal<unknown>['seal']>[0]) => Promise<SealedCardData>

async function importKey(
  issuing: CardOperations,
  caller: Requester,
  question: CardDataRequest,
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
