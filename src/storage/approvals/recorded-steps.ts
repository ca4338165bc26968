import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** A step of an approval as an act, and as an entry of the audit log. */
export interface RecordedStep {
  readonly act: string
  /** Null until it is entered, and after its erasure. */
  readonly entry: {
    readonly commitment: Uint8Array
    readonly salt: Uint8Array
    readonly text: string
  } | null
}

interface StepRow {
  readonly act: string
  readonly commitment: Uint8Array | null
  readonly salt: Uint8Array | null
  readonly text: string | null
}

const selectSteps = declare<{ approvalId: string }, StepRow>('list_approval_steps')

/** Lists the first steps of an approval, in their order. */
export const listRecordedSteps = async (
  connection: Connection,
  approvalId: string,
): Promise<readonly RecordedStep[]> => {
  const rows = await selectSteps(connection, { approvalId })
  return rows.map(({ act, commitment, salt, text }) => ({
    act,
    entry: commitment && salt && text !== null ? { commitment, salt, text } : null,
  }))
}
