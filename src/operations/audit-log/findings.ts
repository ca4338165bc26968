import { findCheck, findNewestResult, listFindings } from '../../storage/audit-log/checks.ts'
import type { Connection } from '../../storage/engine/database.ts'

/** What checks of rows against their entries came to. */
interface CheckState {
  /** When the last one ended, as its act says; null before the first. */
  readonly finishedAt: Date | null
  /** Cards that it came by. */
  readonly cards: number
  /** What was found within thirty days, the newest first, at most a thousand. */
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
