import type { CardStatusCode } from '../../domain/card-status.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import { type Connection, firstRow, statement } from '../engine/database.ts'
import { eventValues, type NewEvent } from '../events/events.ts'

const takePanStatement = statement(
  'take_pan',
  `insert into pan_fingerprint (pan_fingerprint, public_token, key_version) values ($1, $2, $3)
   on conflict (pan_fingerprint) do nothing returning public_token as "publicToken"`,
)

/** What a PAN is known by, under one version of the fingerprints' key. */
export interface PanFingerprintColumns {
  readonly fingerprint: Uint8Array
  readonly keyVersion: number
}

/**
 * Takes a PAN for a card, under every version of the fingerprints' key: a PAN that was issued under
 * one of them is free under none. All or nothing.
 * @returns whether it was free.
 */
export async function takePan(
  connection: Connection,
  panFingerprints: readonly PanFingerprintColumns[],
  publicToken: PublicToken,
): Promise<boolean> {
  // In the order of their versions everywhere, so that two who draw one PAN wait and never deadlock.
  const ordered = panFingerprints.toSorted((a, b) => a.keyVersion - b.keyVersion)
  for (const [index, { fingerprint, keyVersion }] of ordered.entries()) {
    const taken = await connection.query(takePanStatement, [fingerprint, publicToken, keyVersion])
    if (taken.length === 0) {
      await releasePan(connection, ordered.slice(0, index), publicToken)
      return false
    }
  }
  return true
}

const releasePanStatement = statement(
  'release_pan',
  'delete from pan_fingerprint where pan_fingerprint = $1 and public_token = $2',
)

/** Gives a PAN back that was taken for a card which could not be made. */
export async function releasePan(
  connection: Connection,
  panFingerprints: readonly PanFingerprintColumns[],
  publicToken: PublicToken,
): Promise<void> {
  for (const { fingerprint } of panFingerprints) {
    await connection.query(releasePanStatement, [fingerprint, publicToken])
  }
}

/** Everything a card starts with. */
export interface NewCardRow {
  readonly clientId: string
  readonly productId: ProductId
  readonly cardType: CardType
  readonly customerReference: string | null
  readonly designId: string | null
  readonly maskedPan: string
  readonly encryptedPan: Uint8Array
  readonly personalData: Uint8Array
  readonly startDate: string
  readonly expiryDate: string
  readonly statusCode: CardStatusCode
  readonly pinBlock: Uint8Array | null
  readonly pvv: string | null
  readonly pinKey: string
  readonly cvk: string
  readonly pinTryLimit: number
  readonly cvvTryLimit: number
}

const insertStatement = statement(
  'insert_card',
  `with new_card as (
     insert into card (public_token, client_id, product_id, card_type, customer_reference, design_id,
       masked_pan, encrypted_pan, personal_data, start_date, expiry_date, status_code,
       pin_block, pvv, pin_key, cvk, last_sequence)
     values ($1, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, 1)
     on conflict (public_token) do nothing
     returning public_token, client_id, created_at
   ), counters as (
     insert into try_counter (public_token, kind, try_limit)
     select public_token, kind, try_limit
     from new_card, (values ('pin', $21::integer), ('cvv', $22::integer)) as tries (kind, try_limit)
   ), recorded as (
     insert into event (public_token, sequence, client_id, type, request_id, details, note)
     select public_token, 1, client_id, $2, $3, $4, $5 from new_card
   )
   select created_at as "createdAt" from new_card`,
)

/** Adds a card, its tries and its first event. @returns when, or null if the token is taken. */
export const insertCard = async (
  connection: Connection,
  card: NewCardRow,
  event: NewEvent,
): Promise<{ createdAt: Date } | null> =>
  firstRow(
    await connection.query(insertStatement, [
      ...eventValues(event),
      card.clientId,
      card.productId,
      card.cardType,
      card.customerReference,
      card.designId,
      card.maskedPan,
      card.encryptedPan,
      card.personalData,
      card.startDate,
      card.expiryDate,
      card.statusCode,
      card.pinBlock,
      card.pvv,
      card.pinKey,
      card.cvk,
      card.pinTryLimit,
      card.cvvTryLimit,
    ]),
  )
