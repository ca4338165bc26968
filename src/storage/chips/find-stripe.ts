import type { PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import type { ProductChip } from '../../domain/product-chip.ts'
import { identifyCard, type NamedCard } from '../authorizations/begin.ts'
import type { Database } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The card of a stripe, before its values are verified. */
export interface FoundStripe {
  readonly publicToken: PublicToken
  readonly encryptedPan: Uint8Array
  readonly cvk: string
  readonly cardType: CardType
  /** Of the product; only physical cards have one. */
  readonly chip: ProductChip
  /** Of the last chip that was seen; null if none was. */
  readonly panSequenceNumber: string | null
  readonly highestAtc: number | null
  readonly keyVersion: number | null
}

type StripeKey = { readonly publicToken: string | null; readonly panFingerprints: string | null }

type StripeRow = Omit<FoundStripe, 'chip'> & {
  /** JSON. */
  readonly chip: string | null
}

const declare = loadStatements(import.meta.url)
const selectStripe = declare<StripeKey, StripeRow>('find_stripe')

/** Finds the card of a stripe; null if it does not exist, or its product has no chip. */
export async function findStripe(database: Database, card: NamedCard): Promise<FoundStripe | null> {
  const [row] = await selectStripe(database, await identifyCard(database, card))
  if (!row || row.chip === null) return null
  return { ...row, chip: JSON.parse(row.chip) as ProductChip }
}
