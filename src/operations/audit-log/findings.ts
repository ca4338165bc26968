import { findCheck, findNewestResult, listFindings } from '../../storage/audit-log/checks.ts'
import type { Connection } from '../../storage/engine/database.ts'

/** The results of the checks of rows against their entries. */
interface CheckState {
  /** The end of the last check by its act; null before the first. */
  readonly finishedAt: Date | null
  /** The number of checked cards. */
  readonly cards: number
  /** The findings of the last thirty days, newest first, at most a thousand. */
  readonly findings: readonly { readonly found: string; readonly details: string }[]
}

const findingsDays = 30
const findingsMost = 1_000

export async function findCheckState(connection: Connection): Promise<CheckState> {
  const check = await findCheck(connection)
  const newest = await findNewestResult(connection)
  const rows = await listFindings(connection, findingsDays, findingsMost)
  return {
    finishedAt: newest?.at ?? null,
    cards: check?.cards ?? 0,
    findings: rows.map(({ details, subject: found }) => ({ found, details })),
  }
}
