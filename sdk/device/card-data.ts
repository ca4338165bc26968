import { type JsonObject, refuse } from './device-error.ts'
import type { DeviceClock, ServiceKeys } from './service-keys.ts'

/** What a card shows. Show it, and forget it: none of it is for storing or logging. */
export interface CardData {
  readonly pan: string
  /** The CVV2: three digits. */
  readonly cvv: string
  /** `YYYY-MM`. */
  readonly expiryDate: string
  /** Exactly when it was asked for. */
  readonly pin?: string
}

/** The card in an answer. @throws DeviceError `wrong_content` unless it is what was asked for. */
export function readCardData(
  { CVV: cvv, expiryDate, PAN: pan, PIN: pin }: JsonObject,
  includePin: boolean,
): CardData {
  const isCard = isText(pan, /^[0-9]{12,19}$/) && isText(cvv, /^[0-9]{3}$/)
  if (!isCard || !isText(expiryDate, /^[0-9]{4}-(0[1-9]|1[0-2])$/)) return refuse('wrong_content')
  const card = { pan, cvv, expiryDate }
  if (!includePin) return pin === undefined ? card : refuse('wrong_content')
  return isText(pin, /^[0-9]{4,12}$/) ? { ...card, pin } : refuse('wrong_content')
}

const isText = (value: unknown, form: RegExp): value is string =>
  typeof value === 'string' && form.test(value)

/** What an answer must agree with. */
export interface Expectation {
  readonly service: ServiceKeys
  readonly publicToken: string
  readonly includePin: boolean
  readonly clock: DeviceClock
}

/** One form of asking and opening. */
export interface CardDataForm<Body> {
  readonly body: Body
  open(answer: JsonObject): Promise<CardData>
}
