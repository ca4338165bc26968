import type { WaitingChipCommand } from '../../domain/chip-command.ts'
import { guessing } from '../../domain/guessing.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import type { ProductChip } from '../../domain/product-chip.ts'
import { identifyCard, type NamedCard } from '../authorizations/begin.ts'
import type { Database } from '../engine/database.ts'
import { loadSharedStatements } from '../engine/statements.ts'

/** A card of a product with chips, before its cryptogram or its values are verified. */
export interface FoundChip {
  readonly publicToken: PublicToken
  readonly encryptedPan: Uint8Array
  readonly cvk: string
  /** Only physical cards have a chip and a stripe. */
  readonly cardType: CardType
  /** YYMM. */
  readonly expiry: string
  /** Of the product. */
  readonly chip: ProductChip
  /** Of the current plastic. */
  readonly plasticNumber: number
  /** Of the newest plastic, also if it was cancelled. */
  readonly lastPlasticNumber: number
  /** The highest sequence number of the card's chips; null if none was seen before. */
  readonly newestPanSequenceNumber: string | null
  /** Of the keys of that chip; null also without a stripe and a 3-D Secure value. */
  readonly newestKeyVersion: number | null
  /** Of the chip that was read; null if it was not seen before. */
  readonly highestAtc: number | null
  /** The highest one of a transaction by the contacts of that chip; null if none was seen. */
  readonly contactAtc: number | null
  /** Whether the transaction counter was not used before. */
  readonly isFresh: boolean
  /** The commands that have not ended, in their order; empty without chip data. */
  readonly waiting: readonly WaitingChipCommand[]
  /**
   * The highest transaction counter of all stripes and chips of the card; 0 if none was seen, and
   * without a stripe and a 3-D Secure value.
   */
  readonly highestCardAtc: number
  /** Whether the network has sent too many wrong values within the period. */
  readonly isCardValueGuessed: boolean
  readonly isCavvGuessed: boolean
}

/** The keys of the chip and the stripe of a request. */
export interface ChipKey {
  /** The chip that was read and its transaction counter; null without chip data. */
  readonly read: { readonly panSequenceNumber: string; readonly atc: number } | null
  /** The network that sends a stripe or a 3-D Secure value; null without them. */
  readonly networkId: string | null
}

type ChipValues = {
  readonly publicToken: string | null
  readonly panFingerprints: string | null
  readonly panSequenceNumber: string | null
  readonly atc: number | null
  readonly networkId: string | null
  readonly mistakes: number
  readonly windowLength: number
}

type ChipRow = Omit<FoundChip, 'chip' | 'waiting'> & {
  /** JSON. */
  readonly chip: string | null
  readonly commands: string | null
}

const shared = loadSharedStatements(import.meta.url)
const selectChip = shared.declareRead<ChipValues, ChipRow>('find_chip')

/** Finds the card of a chip; null if the card does not exist, or its product has no chip. */
export async function findChip(
  database: Database,
  card: NamedCard,
  { networkId, read }: ChipKey,
): Promise<FoundChip | null> {
  const row = await selectChip(database, {
    ...(await identifyCard(database, card)),
    panSequenceNumber: read?.panSequenceNumber ?? null,
    atc: read?.atc ?? null,
    networkId,
    mistakes: guessing.mistakes,
    windowLength: guessing.windowSeconds * 1_000_000,
  })
  if (!row || row.chip === null) return null
  const { chip, commands, ...found } = row
  return {
    ...found,
    chip: JSON.parse(chip) as ProductChip,
    waiting: commands === null ? [] : (JSON.parse(commands) as WaitingChipCommand[]),
  }
}
