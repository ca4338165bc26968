import type { CardStatusCode } from '../../domain/card-status.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import { type Database, rowOf } from '../engine/database.ts'
import { rowRead } from '../engine/shared-statements.ts'

/** A card's own row: what is answered of it, and of whom only the HSM can read. */
export interface CardRow {
  readonly publicToken: PublicToken
  readonly productId: ProductId
  readonly cardType: CardType
  readonly customerReference: string | null
  readonly designId: string | null
  readonly maskedPan: string
  readonly personalData: Uint8Array
  /** `YYYY-MM-DD`. */
  readonly startDate: string
  /** `YYYY-MM-DD`, the last day of its month. */
  readonly expiryDate: string
  /** As stored: an expired card may not have been swept yet. */
  readonly statusCode: CardStatusCode
  readonly createdAt: Date
}

/** A card with its tries, in one read. */
export interface CardWithTries extends CardRow {
  readonly pinLimit: number
  readonly pinSpent: number
  readonly pinRestored: number
  readonly pinBlockedByClient: boolean
  readonly cvvLimit: number
  readonly cvvSpent: number
  readonly cvvRestored: number
  readonly cvvBlockedByClient: boolean
}

const cardFields: Readonly<Record<keyof CardRow, string>> = {
  publicToken: 'public_token',
  productId: 'product_id',
  cardType: 'card_type',
  customerReference: 'customer_reference',
  designId: 'design_id',
  maskedPan: 'masked_pan',
  personalData: 'personal_data',
  startDate: 'start_date',
  expiryDate: 'expiry_date',
  statusCode: 'status_code',
  createdAt: 'created_at',
}

const cardColumnNames = Object.values(cardFields).join(', ')

const cardColumns = Object.entries(cardFields)
  .map(([name, column]) => `card.${column} as "${name}"`)
  .join(', ')

export const triesColumns = `pin.try_limit as "pinLimit", pin.spent as "pinSpent",
  pin.restored as "pinRestored", pin.blocked_by_client as "pinBlockedByClient",
  cvv.try_limit as "cvvLimit", cvv.spent as "cvvSpent",
  cvv.restored as "cvvRestored", cvv.blocked_by_client as "cvvBlockedByClient"`

/** Both counters of a card. @param publicToken its token, as SQL. */
export const triesOf = (publicToken: string): string =>
  (['pin', 'cvv'] as const)
    .map((kind) => {
      const columns = 'try_limit, spent, restored, blocked_by_client'
      const key = { public_token: publicToken, kind: `'${kind}'` }
      return `cross join ${rowOf('try_counter', kind, { columns, key })}`
    })
    .join(' ')

/** A card with both its counters. @param publicToken its token, as SQL. */
const cardWithTries = (publicToken: string): string => {
  const columns = `${cardColumnNames}, client_id`
  return `${rowOf('card', 'card', { columns, key: { public_token: publicToken } })} ${triesOf(publicToken)}`
}

const cardRead = rowRead('find_card', {
  columns: `${cardColumns}, ${triesColumns}`,
  key: ['text', 'text'],
  from: (publicToken, clientId) =>
    `${cardWithTries(publicToken)} where card.client_id = ${clientId}`,
})

/** A client's card, or null: another client's card is not there. */
export const findCard = (
  database: Database,
  publicToken: PublicToken,
  clientId: string,
): Promise<CardWithTries | null> => database.readRow(cardRead, [publicToken, clientId])

/** A card with what its product asks of a PIN. */
export interface CardWithProduct extends CardRow {
  readonly encryptedPan: Uint8Array
  readonly pinBlock: Uint8Array | null
  readonly pvv: string | null
  readonly pinKey: string
  readonly cvk: string
  readonly pinLength: number
  readonly pinRevealable: boolean
  readonly refuseWeakPins: boolean
  readonly pvk: string
}

const withProductRead = rowRead('find_card_with_product', {
  columns: `${cardColumns}, card.encrypted_pan as "encryptedPan", card.pin_block as "pinBlock", card.pvv, card.pin_key as "pinKey",
    card.cvk, product.pin_length as "pinLength", product.pin_revealable as "pinRevealable",
    product.refuse_weak_pins as "refuseWeakPins", product.pvk`,
  key: ['text', 'text'],
  from: (publicToken, clientId) => {
    const card = {
      columns: `${cardColumnNames}, encrypted_pan, pin_block, pvv, pin_key, cvk, client_id`,
      key: { public_token: publicToken },
    }
    const product = {
      columns: 'pin_length, pin_revealable, refuse_weak_pins, pvk',
      key: { product_id: 'card.product_id' },
    }
    return `${rowOf('card', 'card', card)} cross join ${rowOf('product', 'product', product)}
      where card.client_id = ${clientId}`
  },
})

/** A client's card as it is now, not locked, or null. */
export const findCardWithProduct = (
  database: Database,
  publicToken: PublicToken,
  clientId: string,
): Promise<CardWithProduct | null> => database.readRow(withProductRead, [publicToken, clientId])
