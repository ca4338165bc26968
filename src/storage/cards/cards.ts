import type { CardStatusCode } from '../../domain/card-status.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import type { Database } from '../engine/database.ts'
import { loadSharedStatements } from '../engine/statements.ts'

/** A card's own row: the members of answers, and the references for the HSM. */
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
  /** `YYYY-MM-DD`, the last day of its month, of the current plastic. */
  readonly expiryDate: string
  /** `YYYY-MM-DD`, the last day before the status 54. */
  readonly validUntil: string
  /** The stored status: an expired card may not have been swept yet. */
  readonly statusCode: CardStatusCode
  readonly createdAt: Date
}

/** The place of a card in the line of cards that replaced each other. */
interface CardInLine {
  /** The first card of the line. */
  readonly lineToken: PublicToken
  /** 0 for the first card. */
  readonly generation: number
  /** Whether another card of the line took its place: it can never be active again. */
  readonly isRetired: boolean
  /** Whether the card was converted, and its plastic has not been activated yet. */
  readonly isPlasticInactive: boolean
}

const shared = loadSharedStatements(import.meta.url)

interface CardOfClient {
  readonly publicToken: PublicToken
  readonly clientId: string
}

const selectCard = shared.declareRead<CardOfClient, CardRow & CardInLine>('find_card')

/** Returns a client's card, or null. Another client's card gives null. */
export const findCard = (
  database: Database,
  publicToken: PublicToken,
  clientId: string,
): Promise<(CardRow & CardInLine) | null> => selectCard(database, { publicToken, clientId })

/** A card with its product's PIN rules. */
export interface CardWithProduct extends CardRow, CardInLine {
  readonly encryptedPan: Uint8Array
  readonly pinBlock: Uint8Array | null
  readonly pvv: string | null
  readonly pinKey: string
  readonly cvk: string
  readonly pinLength: number
  readonly pinRevealable: boolean
  readonly refuseWeakPins: boolean
  readonly pvk: string
  /** Whether it is a physical card of a product with chips. */
  readonly hasChip: boolean
}

const selectWithProduct = shared.declareRead<CardOfClient, CardWithProduct>(
  'find_card_with_product',
)

/** Returns a client's card as it is now, without a lock, or null. */
export const findCardWithProduct = (
  database: Database,
  publicToken: PublicToken,
  clientId: string,
): Promise<CardWithProduct | null> => selectWithProduct(database, { publicToken, clientId })
