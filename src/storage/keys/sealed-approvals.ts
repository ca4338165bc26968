import type { SealedApprovalPart } from '../../domain/approval.ts'
import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** One sealed column of an approval. */
interface SealedApproval {
  readonly approvalId: string
  readonly sealed: Uint8Array
}

const declare = loadStatements(import.meta.url)

type Page = { readonly afterId: string; readonly limit: number }

const selectPayloads = declare<Page, SealedApproval>('list_sealed_approvals_payload')
const selectReasons = declare<Page, SealedApproval>('list_sealed_approvals_reason')
const selectOutcomes = declare<Page, SealedApproval>('list_sealed_approvals_outcome')
const selectSealed = { payload: selectPayloads, reason: selectReasons, outcome: selectOutcomes }

/** Lists some approvals with a value in a sealed column, by id. */
export const listSealedApprovals = (
  connection: Connection,
  column: SealedApprovalPart,
  afterId: string,
  limit: number,
): Promise<SealedApproval[]> => selectSealed[column](connection, { afterId, limit })

type SealedMove = SealedApproval & { readonly after: Uint8Array }

const updatePayload = declare<SealedMove>('move_sealed_approval_payload')
const updateReason = declare<SealedMove>('move_sealed_approval_reason')
const updateOutcome = declare<SealedMove>('move_sealed_approval_outcome')
const updateSealed = { payload: updatePayload, reason: updateReason, outcome: updateOutcome }

/**
 * Stores a sealed column under another key, if it is unchanged.
 * @returns whether it was stored.
 */
export const moveSealedApproval = async (
  connection: Connection,
  column: SealedApprovalPart,
  approval: SealedApproval,
  after: Uint8Array,
): Promise<boolean> => (await updateSealed[column](connection, { ...approval, after })).length === 1
