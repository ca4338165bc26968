import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The sealed columns of an approval. */
export type SealedApprovalColumn = 'payload' | 'outcome'

/** One sealed column of an approval. */
interface SealedApproval {
  readonly approvalId: string
  readonly sealed: Uint8Array
}

const declare = loadStatements(import.meta.url)

type Page = { readonly afterId: string; readonly limit: number }

const selectPayloads = declare<Page, SealedApproval>('list_sealed_approvals_payload')
const selectOutcomes = declare<Page, SealedApproval>('list_sealed_approvals_outcome')
const selectSealed = { payload: selectPayloads, outcome: selectOutcomes }

/** Lists some approvals with a value in a sealed column, by id. */
export const listSealedApprovals = (
  connection: Connection,
  column: SealedApprovalColumn,
  afterId: string,
  limit: number,
): Promise<SealedApproval[]> => selectSealed[column](connection, { afterId, limit })

type SealedMove = SealedApproval & { readonly after: Uint8Array }

const updatePayload = declare<SealedMove>('move_sealed_approval_payload')
const updateOutcome = declare<SealedMove>('move_sealed_approval_outcome')
const updateSealed = { payload: updatePayload, outcome: updateOutcome }

/**
 * Stores a sealed column under another key, if it is unchanged.
 * @returns whether it was stored.
 */
export const moveSealedApproval = async (
  connection: Connection,
  column: SealedApprovalColumn,
  approval: SealedApproval,
  after: Uint8Array,
): Promise<boolean> => (await updateSealed[column](connection, { ...approval, after })).length === 1
