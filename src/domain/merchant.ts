import { findCountryCode } from './countries.ts'
import { freeTextFault } from './free-text.ts'
import { holdsPanPart } from './pan.ts'

/** The merchant or cash machine of an authorization request. Its data is that of the acquirer. */
export interface Merchant {
  readonly id?: string
  readonly terminalId?: string
  readonly name?: string
  readonly city?: string
  /** ISO 3166-1 alpha-3. */
  readonly country?: string
  /** ISO 18245: a text of four digits. */
  readonly categoryCode?: string
}

/** Whether anything is known of a merchant. */
export const isMerchantKnown = (merchant: Merchant): boolean => Object.keys(merchant).length > 0

/** The most characters of each text. Those of the ids are of ISO 8583, fields 42 and 41. */
export const merchantLengths = { id: 15, terminalId: 8, name: 99, city: 50 } as const

/** Printable ASCII that neither begins nor ends with a space. */
const identifier = /^[!-~](?:[ -~]*[!-~])?$/

type Rule = (text: string) => string | null

const within =
  (length: number, isSound: (text: string) => boolean): Rule =>
  (text) =>
    text.length <= length && isSound(text) ? text : null

const isFreeText = (text: string): boolean => text !== '' && freeTextFault(text) === null

const rules: Readonly<Record<keyof Merchant, Rule>> = {
  id: within(merchantLengths.id, (text) => identifier.test(text)),
  terminalId: within(merchantLengths.terminalId, (text) => identifier.test(text)),
  name: within(merchantLengths.name, isFreeText),
  city: within(merchantLengths.city, isFreeText),
  country: findCountryCode,
  categoryCode: within(4, (text) => /^[0-9]{4}$/.test(text)),
}

const members = Object.keys(rules) as readonly (keyof Merchant)[]

/**
 * Takes what can be recorded of a merchant as a network describes it. Other members are left out:
 * an acquirer's text is no reason to decline.
 * @param pan of the card, which no text may hold a part of.
 * @returns null where nothing is left.
 */
export function parseMerchant(
  described: Readonly<Partial<Record<keyof Merchant, string | undefined>>>,
  pan: string,
): Merchant | null {
  const known = members.flatMap((member) => {
    const text = rules[member](described[member]?.trim() ?? '')
    return text === null || holdsPanPart(pan, text) ? [] : [[member, text] as const]
  })
  const merchant: Merchant = Object.fromEntries(known)
  return isMerchantKnown(merchant) ? merchant : null
}
