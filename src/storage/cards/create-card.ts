import type { CardStatusCode } from '../../domain/card-status.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import { type Connection, statement } from '../engine/database.ts'
import { eventValues, type NewEvent } from '../events/events.ts'
import * as idempotency from '../idempotency/idempotency.ts'
import type { PanFingerprintColumns } from './keys-of-cards.ts'

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

/** Values of the card, of its product and of its number, and then those of the claim. */
const claimsFirst = 26

// Locks go key, product, number, card. A number is taken under every version of the fingerprints' key: one that was
// issued under any of them is free under none. What was taken or claimed is undone where no card could be made.
const insert = (
  isKeyed: boolean,
): string => `with ${isKeyed ? `${idempotency.claimOf(claimsFirst)},` : ''}
   granted as (
     select product_id from product join client_product using (product_id)
       ${isKeyed ? 'cross join claimed' : ''}
     where client_id = $6 and product_id = $7 and active and changes = $25
       ${isKeyed ? 'and is_whole' : ''}
     for key share of product, client_product
   ), numbers as (
     insert into pan_fingerprint (pan_fingerprint, public_token, key_version)
     select decode(hash, 'hex'), $1, version
     from granted cross join unnest($23::text[], $24::integer[]) as known (hash, version)
     on conflict (pan_fingerprint) do nothing returning public_token
   ), number as (
     select count(*) = cardinality($23::text[]) as is_free from numbers having count(*) > 0
   ), new_card as (
     insert into card (public_token, client_id, product_id, card_type, customer_reference, design_id,
       masked_pan, encrypted_pan, personal_data, start_date, expiry_date, status_code,
       pin_block, pvv, pin_key, cvk, last_sequence)
     select $1, $6, product_id, $8, $9, $10, $11, $12, $13, $14::date, $15::date, $16, $17, $18, $19,
       $20, 1
     from granted join number on is_free
     on conflict (public_token) do nothing
     returning public_token, client_id
   ), counters as (
     insert into try_counter (public_token, kind, try_limit)
     select public_token, kind, try_limit
     from new_card, (values ('pin', $21::integer), ('cvv', $22::integer)) as tries (kind, try_limit)
   )
   insert into event (public_token, sequence, client_id, type, request_id, details, note)
   select public_token, 1, client_id, $2, $3, $4, $5
   from ${isKeyed ? 'claimed' : 'number'} left join new_card on true
   returning public_token as "publicToken"`

const insertStatement = statement('insert_card', insert(false))
const insertOnceStatement = statement('insert_card_once', insert(true))

/** A card under a number that was drawn for it. */
interface NumberedCard {
  readonly card: NewCardRow
  readonly event: NewEvent
  readonly panFingerprints: readonly PanFingerprintColumns[]
  /** How often its product had been changed when the card was made by it. */
  readonly productChanges: number
  /** Null without an idempotency key. */
  readonly claim: idempotency.Claim | null
}

/**
 * Adds a card, its tries and its first event; `refused` where its number or its token is taken, or its product is
 * the client's no more or another than it was made by.
 */
export const insertCard = (
  connection: Connection,
  { card, claim, event, panFingerprints, productChanges }: NumberedCard,
): Promise<idempotency.ActOutcome> => {
  // In the order of their versions everywhere, so that two who draw one PAN wait and never deadlock.
  const ordered = panFingerprints.toSorted((a, b) => a.keyVersion - b.keyVersion)
  const values = [
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
    ordered.map(({ fingerprint }) => Buffer.from(fingerprint).toString('hex')),
    ordered.map(({ keyVersion }) => keyVersion),
    productChanges,
  ]
  return idempotency.outcomeOf(claim, () =>
    claim
      ? connection.query(insertOnceStatement, [...values, ...idempotency.claimValues(claim)])
      : connection.query(insertStatement, values),
  )
}

const freeStatement = statement(
  'is_number_free',
  `select from (select 1) as asked
   where not exists (select from card where public_token = $1) and not exists (
     select from pan_fingerprint
     where pan_fingerprint in (select decode(hash, 'hex') from unnest($2::text[]) as hash)
   )`,
)

/** Whether nobody has a number that was drawn: neither its token nor its PAN. */
export const isNumberFree = async (
  connection: Connection,
  publicToken: PublicToken,
  panFingerprints: readonly PanFingerprintColumns[],
): Promise<boolean> => {
  const hashes = panFingerprints.map(({ fingerprint }) => Buffer.from(fingerprint).toString('hex'))
  return (await connection.query(freeStatement, [publicToken, hashes])).length > 0
}
