import type { GivenAddress } from '../../domain/address-check.ts'
import { findCountryCode } from '../../domain/countries.ts'
import { findCurrency } from '../../domain/currencies.ts'
import { type Merchant, parseMerchant } from '../../domain/merchant.ts'
import type { Money } from '../../domain/money.ts'
import { holdsPanPart } from '../../domain/pan.ts'
import type { Transaction, TransactionType } from '../../domain/transaction.ts'
import type { Raise } from '../../operations/links/authorization-requests.ts'
import type { ReportedTransaction } from '../../operations/links/reversals.ts'
import type { IsoMessage } from './codec/layout.ts'
import { findOptionalPart } from './codec/parts.ts'
import type { Profile } from './profile-schema.ts'

type Fields = IsoMessage['fields']

/** Selects the type of a transaction by its function and its processing code. */
export function selectType({ processing }: Profile, fields: Fields): TransactionType | 'declined' {
  const { codes, functions } = processing
  const named = functions?.codes[fields[functions.field] ?? '']
  return named ?? codes[(fields['3'] ?? '').slice(0, 2)] ?? 'declined'
}

/**
 * Reads what a message asks to have authorized: fields 3, 4, 41, 42, 43, 49, the merchant type, the
 * billing amount and the network's id.
 * @param pan of the card.
 * @returns null where an amount has no currency or an unknown one, or the reverse.
 */
export function parseTransaction(
  profile: Profile,
  fields: Fields,
  pan: string,
): Transaction | null {
  const transactionType = selectType(profile, fields)
  const charged = parseCharged(profile, fields)
  if (transactionType === 'declined' || charged === 'malformed') return null
  const { billing, money } = charged
  const merchant = parseSentMerchant(profile, fields, pan)
  const networkTransactionId = parseNetworkId(profile, fields, pan)
  const cashbackAmount = transactionType === 'cashback' ? parseCashback(profile, fields) : null
  // Cash is a part of the amount.
  if (cashbackAmount !== null && cashbackAmount > (money?.amount ?? 0)) return null
  return { transactionType, money, billing, cashbackAmount, merchant, networkTransactionId }
}

/**
 * Reads what an advice or a reversal reports. Its amount may be less than the cash of the request,
 * and the processing code only says what an advice does.
 * @param pan of the card.
 * @returns null where an amount is unreadable, or has no currency or an unknown one.
 */
export function parseReport(
  profile: Profile,
  fields: Fields,
  pan: string,
): ReportedTransaction | null {
  const transactionType = selectType(profile, fields)
  // A currency without an amount says nothing.
  const charged = (fields['4'] ?? '') === '' ? unsaid : parseCharged(profile, fields)
  if (charged === 'malformed') return null
  const { billing, money } = charged
  return {
    transactionType: transactionType === 'declined' ? null : transactionType,
    // Some networks send a billing amount of zeros where they convert nothing.
    charge: billing && billing.amount > 0 ? billing : money,
    merchant: parseSentMerchant(profile, fields, pan),
    networkTransactionId: parseNetworkId(profile, fields, pan),
  }
}

type ChargedAmounts = Pick<Transaction, 'money' | 'billing'>

const unsaid: ChargedAmounts = { money: null, billing: null }

function parseCharged(profile: Profile, fields: Fields): ChargedAmounts | 'malformed' {
  const { billing: converted } = profile
  const money = parseAmount(fields['4'], fields['49'])
  // Some networks name the currency of the card without an amount, which says nothing.
  const billing =
    converted && fields[converted.amount]
      ? parseAmount(fields[converted.amount], fields[converted.currency])
      : null
  if (money === 'malformed' || billing === 'malformed') return 'malformed'
  // A billing amount is that of another amount.
  return billing && !money ? 'malformed' : { money, billing }
}

function parseSentMerchant(profile: Profile, fields: Fields, pan: string): Merchant | null {
  const described = {
    id: fields['42'],
    terminalId: fields['41'],
    categoryCode: fields[profile.entryMode.atm.merchantField],
    ...parseLocation(profile.merchantLocation, fields['43'] ?? ''),
  }
  return parseMerchant(described, pan)
}

/**
 * Reads the cash among the additional amounts. Each has 20 characters: account type, amount type,
 * currency, sign and amount. Null without one in the currency of the transaction.
 */
function parseCashback({ additionalAmounts }: Profile, fields: Fields): number | null {
  const text = (additionalAmounts && fields[additionalAmounts.field]) ?? ''
  const currency = findCurrency((fields['49'] ?? '').trim())?.number
  for (const [, type, code, digits = ''] of text.matchAll(/.{2}(.{2})(.{3}).(.{12})/gs)) {
    const isCash = type === additionalAmounts?.cashback && code === currency
    if (isCash && /^[0-9]{12}$/.test(digits)) return Number(digits)
  }
  return null
}

/** Digits are in the smallest unit of the currency, which is named by either code of ISO 4217. */
function parseAmount(digits = '', code = ''): Money | 'malformed' | null {
  if (digits === '' && code.trim() === '') return null
  const currency = findCurrency(code.trim())
  if (!currency || !/^[0-9]{1,12}$/.test(digits)) return 'malformed'
  return { amount: Number(digits), currency: currency.code }
}

/** An id that cannot be recorded is left out, as a text of the merchant is. */
function parseNetworkId(
  { layout, networkTransactionId: place }: Profile,
  fields: Fields,
  pan: string,
): string | null {
  const value = place && fields[place.field]
  const field = place && layout.fields[place.field]
  if (!field || value === undefined || value === null) return null
  const { field: name, part } = place
  const id = part === undefined ? value : findOptionalPart(name, field, part, value)
  const text = id?.trim() ?? ''
  return /^[A-Za-z0-9]{1,15}$/.test(text) && !holdsPanPart(pan, text) ? text : null
}

/** Reads the address of the cardholder; null without one. */
export function parseAddress(profile: Profile, fields: Fields): GivenAddress | null {
  if (!profile.addressCheck) return null
  const { addressLine: line, postalCode: code } = profile.addressCheck
  const postalCode = readText(profile, fields, code)
  const addressLine = readText(profile, fields, line)
  if (postalCode === '' && addressLine === '') return null
  return {
    ...(postalCode !== '' && { postalCode }),
    ...(addressLine !== '' && { addressLine }),
  }
}

type TextPlace = NonNullable<Profile['addressCheck']>['postalCode']

/** Reads a text at its place; an empty text where it is absent. */
function readText(
  { layout }: Profile,
  fields: Fields,
  { at = 0, field: name, length, part }: TextPlace,
): string {
  const field = layout.fields[name]
  const value = fields[name]
  if (!field || value === undefined) return ''
  const whole = part === undefined ? value : (findOptionalPart(name, field, part, value) ?? '')
  return whole.slice(at, length === undefined ? undefined : at + length).trim()
}

/**
 * Selects how a request raises a payment: its amount is added, or is the new total. Null: it is no
 * increment.
 */
export function selectRaise({ increment, layout }: Profile, fields: Fields): Raise | null {
  const value = increment && fields[increment.field]
  const field = increment && layout.fields[increment.field]
  if (!field || value === undefined || value === null) return null
  const { added, part, total } = increment
  const code = part === undefined ? value : findOptionalPart(increment.field, field, part, value)
  if (code === undefined) return null
  if (added.includes(code)) return 'added'
  return total.includes(code) ? 'total' : null
}

/** Whether the terminal of a request can take a part of the amount. */
export function isPartialAllowed(profile: Profile, fields: Fields): boolean {
  const { partialApproval: place } = profile
  if (!place) return false
  const text = readText(profile, fields, place)
  return place.values.some((value) => text.startsWith(value))
}

/**
 * Reads what remains of the amount after a reversal: of the billing amount, if there is one.
 * @returns null where the message does not say it.
 */
export function parseRemaining(profile: Profile, fields: Fields): Money | 'malformed' | null {
  const { billing: converted, replacement } = profile
  const text = (replacement && fields[replacement.field]) ?? ''
  const functions = replacement?.functions
  const isPartial = !functions || functions.values.includes(fields[functions.field] ?? '')
  if (!replacement || text === '' || !isPartial) return null
  const amount = cut(text, replacement.amount)
  const billed = replacement.billing && cut(text, replacement.billing)
  const isConverted = converted && fields[converted.amount] && billed && !/^0*$/.test(billed)
  return isConverted
    ? parseAmount(billed, fields[converted.currency])
    : parseAmount(amount, fields['49'])
}

type Location = Pick<Merchant, 'name' | 'city' | 'country'>

/** Reads field 43, which holds the merchant's name, city and country. */
function parseLocation(layout: Profile['merchantLocation'], text: string): Location {
  if (layout.kind === 'backslashes') {
    const [name = '', , city = '', rest = ''] = text.split('\\')
    // Behind the postal code and the region.
    return { name, city, country: parseCountry(rest, { at: 13, length: 3 }) }
  }
  const { city, country, name } = layout
  return {
    name: cut(text, name),
    city: cut(text, city),
    country: parseCountry(text, country),
  }
}

interface Column {
  readonly at: number
  readonly length: number
}

const cut = (text: string, { at, length }: Column): string => text.slice(at, at + length)

/** A code that does not fill its column is that of a region. */
function parseCountry(text: string, column: Column): string {
  const code = cut(text, column)
  return (code.length === column.length && findCountryCode(code)) || ''
}
