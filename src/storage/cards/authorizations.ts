import type { CardStatusCode } from '../../domain/card-status.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { Database } from '../engine/database.ts'
import { rowRead } from '../engine/row-reads.ts'
import { triesJoins } from './cards.ts'

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

const withZoneKey = (network: string, keyName: string): string =>
  `join product using (product_id) ${triesJoins}
   left join zone_key on zone_key.client_id = ${network} and zone_key.key_name = ${keyName}
     and zone_key.retired_at is null`

const byTokenRead = rowRead('find_authorized_card', {
  columns,
  key: ['text', 'text', 'text'],
  from: (publicToken, network, keyName) =>
    `card ${withZoneKey(network, keyName)} where card.public_token = ${publicToken}`,
})

// Of one card, where the PAN was taken under several versions of the fingerprints' key.
const byPanRead = rowRead('find_authorized_card_by_pan', {
  columns,
  key: ['text', 'text', 'text'],
  from: (fingerprints, network, keyName) =>
    `unnest(string_to_array(${fingerprints}, ',')) as known(fingerprint)
     join pan_fingerprint on pan_fingerprint.pan_fingerprint = decode(known.fingerprint, 'hex')
     join card on card.public_token = pan_fingerprint.public_token
     ${withZoneKey(network, keyName)}`,
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
export const findAuthorizedCard = (
  database: Database,
  card: NamedCard,
  zoneKey: NamedZoneKey | null,
): Promise<AuthorizedCard | null> => {
  // No key's name is empty.
  const { keyName, networkId } = zoneKey ?? { keyName: '', networkId: '' }
  if ('publicToken' in card) {
    return database.readRow(byTokenRead, [card.publicToken, networkId, keyName])
  }
  const fingerprints = card.panFingerprints.map((each) => Buffer.from(each).toString('hex'))
  return database.readRow(byPanRead, [fingerprints.join(','), networkId, keyName])
}
