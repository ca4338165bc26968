import { computeCommitment } from '../../../packages/audit/tree.ts'
import { hashPayload } from '../../domain/approval.ts'
import type { ApprovalRow } from '../../storage/approvals/approvals.ts'
import { listRecordedSteps, type RecordedStep } from '../../storage/approvals/recorded-steps.ts'
import type { Connection } from '../../storage/engine/database.ts'

/**
 * Whether a request and its approval are in the audit log. `entering`: their entries are not
 * written yet.
 */
type Recorded = 'recorded' | 'entering' | 'missing'

/** The members of a step's entry that are compared with the row. */
interface StepSaid {
  readonly act?: unknown
  readonly client?: unknown
  readonly subject?: unknown
  readonly details?: {
    readonly kind?: unknown
    readonly payloadHash?: unknown
    readonly person?: unknown
  }
}

/**
 * Whether the audit log contains the request of an approved row and its approval by another person.
 * The row alone proves nothing: an attacker may have written it directly to the database.
 */
export async function findRecorded(
  connection: Connection,
  row: ApprovalRow,
  payload: string,
): Promise<Recorded> {
  if (Buffer.compare(hashPayload(payload), row.payloadHash) !== 0) return 'missing'
  const steps = await listRecordedSteps(connection, row.approvalId)
  const decision = row.brokeGlass ? 'broke glass' : 'approved'
  const isActThere = (act: string) => steps.some((step) => step.act === act)
  if (!isActThere('asked') || !isActThere(decision)) return 'missing'
  const said = steps.map(readEntry)
  if (said.some((entry) => entry === null)) return 'entering'
  const isThere = (matches: (entry: StepSaid) => boolean) =>
    said.some((entry) => entry !== null && matchesApproval(row, entry) && matches(entry))
  const isRecorded =
    isThere(({ act, client }) => act === 'approval.asked' && client === row.requesterId) &&
    isThere((entry) => isDecision(row, entry))
  return isRecorded ? 'recorded' : 'missing'
}

/**
 * Returns the content of an entry: null if it is missing, and an empty object if it does not match
 * its leaf.
 */
function readEntry({ entry }: RecordedStep): StepSaid | null {
  if (entry === null) return null
  const { commitment, salt, text } = entry
  const isCommitted = Buffer.compare(computeCommitment(salt, text), commitment) === 0
  return isCommitted ? (JSON.parse(text) as StepSaid) : {}
}

/** Whether an entry belongs to this approval and this payload. */
const matchesApproval = (row: ApprovalRow, { details, subject }: StepSaid): boolean =>
  subject === row.approvalId &&
  details?.kind === row.kind &&
  details.payloadHash === Buffer.from(row.payloadHash).toString('hex')

/**
 * Whether an entry is the approval by the person in the row, or the requester's own in an
 * emergency.
 */
function isDecision(row: ApprovalRow, { act, client, details }: StepSaid): boolean {
  const { brokeGlass, deciderId, requesterId, requesterParties } = row
  if (!details?.person || client !== deciderId) return false
  if (brokeGlass) return act === 'approval.broke_glass' && deciderId === requesterId
  const isAnother = deciderId !== requesterId && !requesterParties.includes(String(deciderId))
  return act === 'approval.approved' && isAnother
}
