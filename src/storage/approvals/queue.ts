import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** An approved request that one worker executes. */
export interface ClaimedApproval {
  readonly approvalId: string
  readonly attempts: number
  /** Whether the approval is too old to execute it. */
  readonly isTooOld: boolean
}

const updateClaimed = declare<{ holder: string }, ClaimedApproval>('claim_approval')

/**
 * Claims the next request to execute, for a minute.
 * @returns null if none is due.
 */
export const claimApproval = async (
  connection: Connection,
  holder: string,
): Promise<ClaimedApproval | null> => firstRow(await updateClaimed(connection, { holder }))

/** The duration of a claim, which `claim_approval` states, too. */
const leaseSeconds = 60

const updateDue = declare<{ approvalId: string; holder: string; seconds: number }>('defer_approval')

/**
 * Extends a claim by a number of seconds, or schedules the next attempt.
 * @returns whether the caller still has the claim.
 */
export const deferApproval = async (
  connection: Connection,
  approvalId: string,
  holder: string,
  seconds: number = leaseSeconds,
): Promise<boolean> => (await updateDue(connection, { approvalId, holder, seconds })).length === 1

/** The outcome of an executed request. */
interface ApprovalOutcome {
  readonly approvalId: string
  readonly state: 'done' | 'failed' | 'stale'
  /** Null if the request was not executed because it is stale. */
  readonly status: number | null
  /** Sealed. */
  readonly outcome: Uint8Array | null
  readonly forgetsPayload: boolean
}

const updateSettled = declare<ApprovalOutcome>('settle_approval')

/**
 * Records the first outcome.
 * @returns whether it was recorded.
 */
export const settleApproval = async (
  connection: Connection,
  outcome: ApprovalOutcome,
): Promise<boolean> => (await updateSettled(connection, outcome)).length === 1
