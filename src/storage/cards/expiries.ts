import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

interface ExpiryPeriod {
  /** `YYYY-MM-DD` */
  readonly from: string
  /** `YYYY-MM-DD`, included. */
  readonly until: string
}

const declare = loadStatements(import.meta.url)

const count = declare<ExpiryPeriod & { readonly limit: number }, { cards: number }>(
  'count_cards_expiring',
)

/** Counts open cards whose last day is within a period, up to a limit. */
export const countCardsExpiring = async (
  connection: Connection,
  period: ExpiryPeriod,
  limit: number,
): Promise<number> => firstRow(await count(connection, { ...period, limit }))?.cards ?? 0
