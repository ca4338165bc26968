/** The largest integer that the database uses as a count or an id. */
export const integerMax = 2_147_483_647

/** Whether a value is an integer that can be a count or an id: 1 to {@link integerMax}. */
export const isPositiveInteger = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= integerMax

/**
 * Whether a value is an id of this service: a UUID (RFC 9562) in lower case. The database accepts
 * other spellings too, which would give one resource several addresses.
 */
export const isUuid = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)

declare const publicToken: unique symbol
/** The token of a card, checked by {@link isPublicToken}. */
export type PublicToken = string & { readonly [publicToken]: true }

/** Whether a value can be a card's token: ten digits, the first not 0. */
export const isPublicToken = (value: unknown): value is PublicToken =>
  typeof value === 'string' && /^[1-9][0-9]{9}$/.test(value)

declare const productId: unique symbol
/** The id of a product, checked by {@link isProductId}. */
export type ProductId = number & { readonly [productId]: true }

/** Whether a value can be the id of a product: an integer from 1 to {@link integerMax}. */
export const isProductId = (value: unknown): value is ProductId => isPositiveInteger(value)

/**
 * Makes the id of a product.
 * @throws RangeError if the number cannot be an id.
 */
export function makeProductId(number: number): ProductId {
  if (!isProductId(number)) throw new RangeError('not the id of a product')
  return number
}

/**
 * Parses the id of a product in decimal digits without leading zeros; returns null for other texts.
 */
export function parseProductId(text: string): ProductId | null {
  const number = Number(text)
  return isProductId(number) && String(number) === text ? number : null
}

/** Whether a value can be the id of a delivery: digits, within the range of the database. */
export const isDeliveryId = (value: unknown): value is string =>
  typeof value === 'string' && /^[1-9][0-9]{0,17}$/.test(value)

/**
 * Whether a value can be the name of a key of this installation, of a zone key, or of a zone master
 * key.
 */
export const isKeyName = (value: unknown): value is string =>
  typeof value === 'string' && /^[a-z0-9][a-z0-9-]{0,31}$/.test(value)

/** Whether a text is an address block: `10.0.0.0/8`, `fd00::/8`, or a single address. */
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
