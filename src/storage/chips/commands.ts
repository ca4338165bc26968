import type { PublicToken } from '../../domain/identifiers.ts'
import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** What a message of a chip and its answer changed. Commands are named by their numbers. */
export interface ChipNews {
  readonly publicToken: PublicToken
  readonly panSequenceNumber: string
  readonly atc: number
  readonly sent: readonly number[]
  readonly done: readonly number[]
  readonly failed: readonly number[]
  readonly remainingOfflineTries: number | null
}

const recordNews = declare<ChipNews>('record_chip_news')

/** Records what changed, once: what is known already does not change. */
export const recordChipNews = async (connection: Connection, news: ChipNews): Promise<void> => {
  await recordNews(connection, news)
}
