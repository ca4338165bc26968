import type { CardStatusCode } from '../../domain/card-status.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import type { Connection, Database, SharedStatement } from '../engine/database.ts'
import { sharedChange } from '../engine/shared-statements.ts'
import { loadStatements } from '../engine/statements.ts'
import { eventValues, eventValueTypes, type NewEvent } from '../events/events.ts'
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

/** Of the card, of its product and of its number. */
const ownTypes = [
  ...eventValueTypes,
  'text',
  'integer',
  'text',
  'text',
  'text',
  'text',
  'bytea',
  'bytea',
  'date',
  'date',
  'text',
  'bytea',
  'text',
  'text',
  'text',
  'integer',
  'integer',
  'text',
  'text',
  'uuid',
]
const claimFirst = ownTypes.length + 1

/** The values of a card's row, from its type to the key of its CVV. */
const cardValues = Array.from({ length: 13 }, (_, at) => `$${at + 8}`)

// Locks go grant of the product, key, number, card. A number is taken under every version of the fingerprints' key: one that
// was issued under any of them is free under none. What was claimed or taken is undone where no card could be made.
const declareInsert = (name: string, isKeyed: boolean): SharedStatement => {
  const asked = isKeyed ? `locked ${idempotency.withClaim(claimFirst)}` : 'locked'
  return sharedChange(name, {
    types: isKeyed ? [...ownTypes, ...idempotency.claimTypes] : ownTypes,
    text: ({ answered, lock }) => `${lock(`
       select 1 as one from client_product
       where client_id = any(array[$6]) and product_id = $7 and product_version = $25
       limit 1 for share`)},
     ${isKeyed ? `${idempotency.claimOf(claimFirst, 'locked')},` : ''}
     numbers as (
       insert into pan_fingerprint (pan_fingerprint, public_token, key_version)
       select decode(hash, 'hex'), $1, version
       from ${asked} cross join lateral
         unnest(string_to_array($23, ','), string_to_array($24, ',')::integer[]) as known (hash, version)
       order by hash
       on conflict (pan_fingerprint) do nothing returning public_token
     ), number as (
       select public_token, count(*) as taken from numbers group by public_token
     ), new_card as (
       insert into card (public_token, client_id, product_id, card_type, customer_reference, design_id,
         masked_pan, encrypted_pan, personal_data, start_date, expiry_date, status_code,
         pin_block, pvv, pin_key, cvk, last_sequence)
       select $1, $6, $7, ${cardValues.join(', ')}, 1
       from ${asked} join number on number.public_token = $1
       where taken = cardinality(string_to_array($23, ','))
       on conflict (public_token) do nothing
       returning public_token, client_id
     ), counters as (
       insert into try_counter (public_token, kind, try_limit)
       select new_card.public_token, kind, try_limit
       from locked join new_card on new_card.public_token = $1
       cross join lateral (values ('pin', $21), ('cvv', $22)) as tries (kind, try_limit)
     ), recorded as (
       insert into event (public_token, sequence, client_id, type, request_id, details, note)
       select $1, 1, client_id, $2, $3, $4, $5
       from ${asked} left join new_card on new_card.public_token = $1 ${idempotency.undoable}
     )
     select ${answered('locked')} from ${asked}`,
  })
}

const insertion = declareInsert('insert_card', false)
const insertionOnce = declareInsert('insert_card_once', true)

/** A card under a number that was drawn for it. */
interface NumberedCard {
  readonly card: NewCardRow
  readonly event: NewEvent
  readonly panFingerprints: readonly PanFingerprintColumns[]
  /** What its product was when the card was made by it. */
  readonly productVersion: string
  /** Null without an idempotency key. */
  readonly claim: idempotency.Claim | null
}

/**
 * Adds a card, its tries and its first event.
 * @returns whether it was done: not where its number or its token is taken, or its product is the client's no more or
 * another than it was made by.
 */
export const insertCard = (
  database: Database,
  { card, claim, event, panFingerprints, productVersion }: NumberedCard,
): Promise<boolean> => {
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
    hashesOf(panFingerprints),
    panFingerprints.map(({ keyVersion }) => keyVersion).join(','),
    productVersion,
  ]
  return idempotency.isDone(() =>
    claim
      ? database.change(insertionOnce, event.publicToken, [
          ...values,
          ...idempotency.claimValues(claim),
        ])
      : database.change(insertion, event.publicToken, values),
  )
}

/** As one text. */
const hashesOf = (panFingerprints: readonly PanFingerprintColumns[]): string =>
  panFingerprints.map(({ fingerprint }) => Buffer.from(fingerprint).toString('hex')).join(',')

const declare = loadStatements(import.meta.url)

const selectIsFree = declare<{ publicToken: PublicToken; hashes: string }>('is_number_free')

/** Whether nobody has a number that was drawn: neither its token nor its PAN. */
export const isNumberFree = async (
  connection: Connection,
  publicToken: PublicToken,
  panFingerprints: readonly PanFingerprintColumns[],
): Promise<boolean> =>
  (await selectIsFree(connection, { publicToken, hashes: hashesOf(panFingerprints) })).length > 0
