import { guessing } from '../../domain/guessing.ts'
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
  /** YYMM. */
  readonly expiry: string
  /** Of the chip with the highest sequence number that was seen; null if none was. */
  readonly panSequenceNumber: string | null
  readonly keyVersion: number | null
  /** The highest transaction counter of all stripes and chips of the card; 0 if none was seen. */
  readonly highestAtc: number
  /** Whether the network has sent too many wrong values within the period. */
  readonly isCardValueGuessed: boolean
  readonly isCavvGuessed: boolean
}

type StripeKey = {
  readonly publicToken: string | null
  readonly panFingerprints: string | null
  readonly networkId: string
  readonly mistakes: number
  readonly windowLength: number
}

type StripeRow = Omit<FoundStripe, 'chip'> & {
  /** JSON. */
  readonly chip: string | null
}

const declare = loadStatements(import.meta.url)
const selectStripe = declare<StripeKey, StripeRow>('find_stripe')

/** Finds the card of a stripe; null if it does not exist, or its product has no chip. */
export async function findStripe(
  database: Database,
  card: NamedCard,
  networkId: string,
): Promise<FoundStripe | null> {
  const [row] = await selectStripe(database, {
    ...(await identifyCard(database, card)),
    networkId,
    mistakes: guessing.mistakes,
    windowLength: guessing.windowSeconds * 1_000_000,
  })
  if (!row || row.chip === null) return null
  return { ...row, chip: JSON.parse(row.chip) as ProductChip }
}
