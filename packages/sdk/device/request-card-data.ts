import {
  type CardData,
  type DeviceKeyBody,
  deviceKeyForm,
  type SessionKeyBody,
  sessionKeyForm,
} from './card-data.ts'
import { isJsonObject, refuse } from './device-error.ts'
import { isPublicToken } from './seal-pin.ts'
import { type ServiceKeys, startClock } from './service-keys.ts'

/** A request for the data of one card. */
export interface CardDataRequest {
  /**
   * The JSON body that the client system sends unchanged to `POST T/cards/{publicToken}/encrypted`.
   */
  readonly body: (DeviceKeyBody | SessionKeyBody) & { readonly includePin?: true }
  /**
   * Decrypts the answer that the client system returns: the parsed JSON. Once: a second answer to
   * the same request is refused.
   * @throws DeviceError if any check fails; nothing of the card is returned then.
   */
  open(answer: unknown): Promise<CardData>
}

export interface CardDataOptions {
  /** Whether to request the PIN, too; the client system needs the scope `pin.encrypted`. */
  readonly includePin?: boolean
  /** `deviceKey` unless the client system supports only the older form. */
  readonly form?: 'deviceKey' | 'sessionKey'
  /** How far the clocks of device and service may differ; 10 seconds unless given, 60 at most. */
  readonly clockToleranceSeconds?: number
  /** Milliseconds since 1970; `Date.now` unless given. */
  readonly nowMs?: () => number
}

const makers = { deviceKey: deviceKeyForm, sessionKey: sessionKeyForm } as const

/**
 * Makes a new key on this device and a request for a card's data encrypted to it.
 * @throws DeviceError `invalid_argument`; `key_missing` or `invalid_keys` for the session-key form.
 */
export async function requestCardData(
  service: ServiceKeys,
  publicToken: string,
  options: CardDataOptions = {},
): Promise<CardDataRequest> {
  const { clockToleranceSeconds = 10, form = 'deviceKey', includePin = false } = options
  const { nowMs = Date.now } = options
  const isTolerance = clockToleranceSeconds >= 0 && clockToleranceSeconds <= 60
  const isForm = Object.hasOwn(makers, form)
  if (!isPublicToken(publicToken) || !isTolerance || !isForm) refuse('invalid_argument')
  const clock = startClock(nowMs, clockToleranceSeconds)
  const expected = { service, publicToken, includePin, clock }
  const { body, open } = await makers[form](expected)
  let isOpened = false
  return {
    body: { ...body, ...(includePin && { includePin }) },
    async open(answer) {
      if (isOpened) refuse('already_opened')
      const card = await open(isJsonObject(answer) ? answer : {})
      // Two answers may be decrypted concurrently: only the first valid one is returned.
      if (isOpened) refuse('already_opened')
      isOpened = true
      return card
    },
  }
}
