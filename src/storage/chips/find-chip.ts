import type { WaitingChipCommand } from '../../domain/chip-command.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { ProductChip } from '../../domain/product-chip.ts'
import { identifyCard, type NamedCard } from '../authorizations/begin.ts'
import type { Database } from '../engine/database.ts'
import { loadSharedStatements } from '../engine/statements.ts'

/** The chip of a card, before its cryptogram is verified. */
export interface FoundChip {
  readonly publicToken: PublicToken
  readonly encryptedPan: Uint8Array
  readonly chip: ProductChip
  /** Null if the chip was not seen before. */
  readonly highestAtc: number | null
  /** The highest sequence number of the card's chips; null if none was seen before. */
  readonly newestPanSequenceNumber: string | null
  /** Whether the transaction counter was not used before. */
  readonly isFresh: boolean
  /** The commands that have not ended, in their order. */
  readonly waiting: readonly WaitingChipCommand[]
}

type ChipKey = {
  readonly publicToken: string | null
  readonly panFingerprints: string | null
  readonly panSequenceNumber: string
  readonly atc: number
}

type ChipRow = Omit<FoundChip, 'chip' | 'waiting'> & {
  /** JSON. */
  readonly chip: string | null
  readonly commands: string | null
}

const shared = loadSharedStatements(import.meta.url)
const selectChip = shared.declareRead<ChipKey, ChipRow>('find_chip')

/** Finds the chip of a card; null if the card does not exist, or has no chip. */
export async function findChip(
  database: Database,
  card: NamedCard,
  { atc, panSequenceNumber }: { readonly panSequenceNumber: string; readonly atc: number },
): Promise<FoundChip | null> {
  const key = { ...(await identifyCard(database, card)), panSequenceNumber, atc }
  const row = await selectChip(database, key)
  if (!row || row.chip === null) return null
  const { chip, commands, ...found } = row
  return {
    ...found,
    chip: JSON.parse(chip) as ProductChip,
    waiting: commands === null ? [] : (JSON.parse(commands) as WaitingChipCommand[]),
  }
}
