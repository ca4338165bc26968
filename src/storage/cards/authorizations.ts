import type { CardStatusCode } from '../../domain/card-status.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow, statement } from '../engine/database.ts'

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
  readonly pinRemaining: number
  readonly cvvRemaining: number
}

const findStatement = statement(
  'find_authorized_card',
  `select card.public_token as "publicToken", card.client_id as "clientId",
     card.encrypted_pan as "encryptedPan", card.status_code as "statusCode",
     card.expiry_date as "expiryDate", card.pin_block as "pinBlock", card.pvv,
     card.pin_key as "pinKey", card.cvk, product.pin_length as "pinLength",
     pin.try_limit - (pin.spent - pin.restored) as "pinRemaining",
     cvv.try_limit - (cvv.spent - cvv.restored) as "cvvRemaining"
   from card join product using (product_id)
     join try_counter pin on pin.public_token = card.public_token and pin.kind = 'pin'
     join try_counter cvv on cvv.public_token = card.public_token and cvv.kind = 'cvv'
   where card.public_token = $1`,
)

/** A card of any client, or null. */
export const findAuthorizedCard = async (
  connection: Connection,
  publicToken: PublicToken,
): Promise<AuthorizedCard | null> => firstRow(await connection.query(findStatement, [publicToken]))

const findTokenStatement = statement(
  'find_token_by_pan',
  'select public_token as "publicToken" from pan_fingerprint where pan_fingerprint = $1',
)

/** The token of the card that a PAN belongs to, or null. */
export const findTokenByPan = async (
  connection: Connection,
  panFingerprint: Uint8Array,
): Promise<PublicToken | null> =>
  firstRow(
    await connection.query<{ publicToken: PublicToken }>(findTokenStatement, [panFingerprint]),
  )?.publicToken ?? null
