import type { CardStatusCode } from '../../domain/card-status.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { type Database, rowOf } from '../engine/database.ts'
import { rowRead } from '../engine/shared-statements.ts'
import { triesOf } from './cards.ts'

/** What an authorization needs to know of a card. */
export interface AuthorizedCard {
  readonly publicToken: PublicToken
  readonly clientId: string
  readonly encryptedPan: Uint8Array
  readonly statusCode: CardStatusCode
  /** `YYYY-MM-DD`. */
  readonly expiryDate: string
  readonly pinBlock: Uint8Array | null
  readonly pvv: string | null
  readonly pinKey: string
  readonly cvk: string
  readonly pinLength: number
  readonly pinLimit: number
  readonly pinRemaining: number
  readonly cvvLimit: number
  readonly cvvRemaining: number
  /** Of the zone key that was named; null where the network has none of this name. */
  readonly zoneKeyBlock: string | null
  /** Such as `ISO_FORMAT_0`: the only formats taken under that key. */
  readonly zoneKeyFormats: readonly string[] | null
}

const columns = `card.public_token as "publicToken", card.client_id as "clientId",
  card.encrypted_pan as "encryptedPan", card.status_code as "statusCode",
  card.expiry_date as "expiryDate", card.pin_block as "pinBlock", card.pvv,
  card.pin_key as "pinKey", card.cvk, product.pin_length as "pinLength",
  pin.try_limit as "pinLimit", pin.try_limit - (pin.spent - pin.restored) as "pinRemaining",
  cvv.try_limit as "cvvLimit", cvv.try_limit - (cvv.spent - cvv.restored) as "cvvRemaining",
  zone_key.key_block as "zoneKeyBlock", zone_key.pin_block_formats as "zoneKeyFormats"`

const cardColumns = `public_token, client_id, encrypted_pan, status_code, expiry_date, pin_block, pvv, pin_key, cvk,
  product_id`

const cardBy = (publicToken: string): string =>
  rowOf('card', 'card', { columns: cardColumns, key: { public_token: publicToken } })

const ofCard = (publicToken: string, network: string, keyName: string): string => {
  const product = { columns: 'pin_length', key: { product_id: 'card.product_id' } }
  const zoneKey = {
    columns: 'key_block, pin_block_formats',
    key: { client_id: network, key_name: keyName },
    where: 'retired_at is null',
  }
  return `cross join ${rowOf('product', 'product', product)} ${triesOf(publicToken)}
    left join ${rowOf('zone_key', 'zone_key', zoneKey)} on true`
}

const byTokenRead = rowRead('find_authorized_card', {
  columns,
  key: ['text', 'text', 'text'],
  from: (publicToken, network, keyName) =>
    `${cardBy(publicToken)} ${ofCard(publicToken, network, keyName)}`,
})

// Of one card, where the PAN was taken under several versions of the fingerprints' key.
const byPanRead = rowRead('find_authorized_card_by_pan', {
  columns,
  key: ['text', 'text', 'text'],
  from: (fingerprints, network, keyName) => {
    const known = {
      columns: 'public_token',
      key: { pan_fingerprint: "decode(fingerprint, 'hex')" },
    }
    return `unnest(string_to_array(${fingerprints}, ',')) as fingerprint
      cross join ${rowOf('pan_fingerprint', 'known', known)}
      cross join ${cardBy('known.public_token')} ${ofCard('known.public_token', network, keyName)}`
  },
})

// Where the card may lie on another node than its fingerprint: the list says before it is read which node that is.
const tokenByPanRead = rowRead('find_token_by_pan', {
  columns: 'public_token as "publicToken"',
  key: ['text'],
  from: (fingerprints) =>
    `pan_fingerprint where pan_fingerprint = any (string_to_array(${fingerprints}, ',')::bytea[])`,
})

/** How a card is named. */
type NamedCard =
  | { readonly publicToken: PublicToken }
  /** Of its PAN, one for each version of their key. */
  | { readonly panFingerprints: readonly Uint8Array[] }

/** The zone key that a PIN block is under. */
interface NamedZoneKey {
  readonly networkId: string
  readonly keyName: string
}

/** A card of any client with the zone key that is named, or null where there is no such card. */
export const findAuthorizedCard = async (
  database: Database,
  card: NamedCard,
  zoneKey: NamedZoneKey | null,
): Promise<AuthorizedCard | null> => {
  // No key's name is empty.
  const { keyName, networkId } = zoneKey ?? { keyName: '', networkId: '' }
  if ('publicToken' in card) {
    return database.readRow(byTokenRead, [card.publicToken, networkId, keyName])
  }
  if (database.isCluster()) {
    const publicToken = await findTokenByPan(database, card.panFingerprints)
    return publicToken && database.readRow(byTokenRead, [publicToken, networkId, keyName])
  }
  const fingerprints = card.panFingerprints.map(hexOf).join(',')
  return database.readRow(byPanRead, [fingerprints, networkId, keyName])
}

const hexOf = (fingerprint: Uint8Array): string => Buffer.from(fingerprint).toString('hex')

/** The token of a PAN, or null. @param panFingerprints one for each version of their key */
export const findTokenByPan = async (
  database: Database,
  panFingerprints: readonly Uint8Array[],
): Promise<PublicToken | null> => {
  const texts = panFingerprints.map((each) => `\\x${hexOf(each)}`).join(',')
  const known = await database.readRow<{ publicToken: PublicToken }>(tokenByPanRead, [texts])
  return known?.publicToken ?? null
}
