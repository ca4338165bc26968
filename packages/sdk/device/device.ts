/**
 * Card data on the cardholder's device: browser, or Node.js 20.19 and later. The device makes the
 * key, the client system forwards ciphertext, and the device decrypts it.
 *
 * ```ts
 * const service = await fetchKeys('https://cards.example')
 * const request = await requestCardData(service, publicToken)
 * const answer = await relay(request.body)
 * const { pan, cvv, expiryDate } = await request.open(answer)
 * ```
 */
export type { CardData } from './card-data.ts'
export { DeviceError, type DeviceErrorCode } from './device-error.ts'
export {
  type CardDataOptions,
  type CardDataRequest,
  requestCardData,
} from './request-card-data.ts'
export { type SealedPin, sealPin } from './seal-pin.ts'
export {
  type FetchKeysOptions,
  fetchKeys,
  pinKeys,
  type ServiceKey,
  type ServiceKeys,
} from './service-keys.ts'
