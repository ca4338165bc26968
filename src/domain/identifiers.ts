/** The largest number that the database counts and names things by. */
export const integerMax = 2_147_483_647

/** Whether a value is a whole number that can count or name something: 1 to {@link integerMax}. */
export const isPositiveInteger = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= integerMax

/**
 * Whether a value is an id that is made here: a UUID (RFC 9562) in small letters, as it is given
 * out. The database reads other spellings too, so that one thing would answer to several names.
 */
export const isUuid = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)

declare const publicToken: unique symbol
/** A card's token: a text that {@link isPublicToken} has looked at. */
export type PublicToken = string & { readonly [publicToken]: true }

/** Whether a value can be a card's token: ten digits, the first not 0. */
export const isPublicToken = (value: unknown): value is PublicToken =>
  typeof value === 'string' && /^[1-9][0-9]{9}$/.test(value)

declare const productId: unique symbol
/** The id of a product: a number that {@link isProductId} has looked at. */
export type ProductId = number & { readonly [productId]: true }

/** Whether a value can be the id of a product: a whole number from 1 to {@link integerMax}. */
export const isProductId = (value: unknown): value is ProductId => isPositiveInteger(value)

/** A product's id. Throws a RangeError if the number cannot be one. */
export function makeProductId(number: number): ProductId {
  if (!isProductId(number)) throw new RangeError('not the id of a product')
  return number
}

/** A product's id in decimal digits, written in the one way that it is given out in, or null. */
export function parseProductId(text: string): ProductId | null {
  const number = Number(text)
  return isProductId(number) && String(number) === text ? number : null
}

/**
 * Whether a value can be the id of a delivery: digits, within what the database numbers them by.
 */
export const isDeliveryId = (value: unknown): value is string =>
  typeof value === 'string' && /^[1-9][0-9]{0,17}$/.test(value)

/**
 * Whether a value can be the name of a key of this installation, of a zone, or a zone master key.
 */
export const isKeyName = (value: unknown): value is string =>
  typeof value === 'string' && /^[a-z0-9][a-z0-9-]{0,31}$/.test(value)

/** Whether a text is a block of addresses: `10.0.0.0/8`, `fd00::/8`, or a single address. */
export function isCidr(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const isIpv4 =
    /^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.|$)){4}$/.test(address) &&
    !address.endsWith('.')
  const isIpv6 = /^[0-9a-f:.]+$/i.test(address) && URL.canParse(`http://[${address}]/`)
  if (!(isIpv4 || isIpv6) || rest.length > 0) return false
  const bits = isIpv4 ? 32 : 128
  return prefix === undefined || (/^(0|[1-9][0-9]{0,2})$/.test(prefix) && Number(prefix) <= bits)
}
