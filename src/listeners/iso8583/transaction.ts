import { findCountryCode } from '../../domain/countries.ts'
import { findCurrency } from '../../domain/currencies.ts'
import { type Merchant, parseMerchant } from '../../domain/merchant.ts'
import type { Money } from '../../domain/money.ts'
import type { Transaction } from '../../domain/transaction.ts'
import type { IsoMessage } from './codec/layout.ts'
import type { Profile } from './profile-schema.ts'

type Fields = IsoMessage['fields']

/**
 * Reads what a message asks to have authorized: fields 3, 4, 41, 42, 43, 49 and the merchant type.
 * @param pan of the card.
 * @returns null where the amount has no currency or an unknown one, or the reverse.
 */
export function parseTransaction(
  profile: Profile,
  fields: Fields,
  pan: string,
): Transaction | null {
  const transactionType = profile.processing.codes[(fields['3'] ?? '').slice(0, 2)]
  const money = parseAmount(fields)
  if (transactionType === undefined || transactionType === 'declined' || money === 'malformed') {
    return null
  }
  const described = {
    id: fields['42'],
    terminalId: fields['41'],
    categoryCode: fields[profile.entryMode.atm.merchantField],
    ...parseLocation(profile.merchantLocation, fields['43'] ?? ''),
  }
  const merchant = parseMerchant(described, pan)
  return { transactionType, money, merchant, networkTransactionId: null }
}

/** Field 4 is in the smallest unit of the currency of field 49, by either code of ISO 4217. */
function parseAmount(fields: Fields): Money | 'malformed' | null {
  const digits = fields['4'] ?? ''
  const code = fields['49']?.trim() ?? ''
  if (digits === '' && code === '') return null
  const currency = findCurrency(code)
  if (!currency || !/^[0-9]{1,12}$/.test(digits)) return 'malformed'
  return { amount: Number(digits), currency: currency.code }
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
