import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** Something approved that one worker carries out. */
export interface ClaimedApproval {
  readonly approvalId: string
  readonly attempts: number
  /** Whether it was approved so long ago that it is not tried any more. */
  readonly isTooOld: boolean
}

const updateClaimed = declare<{ holder: string }, ClaimedApproval>('claim_approval')

/** Takes what is to be carried out next, for a minute. @returns null where there is nothing now. */
export const claimApproval = async (
  connection: Connection,
  holder: string,
): Promise<ClaimedApproval | null> => firstRow(await updateClaimed(connection, { holder }))

/** For how long a claim lasts: `claim_approval` says it, too. */
const leaseSeconds = 60

const updateDue = declare<{ approvalId: string; holder: string; seconds: number }>('defer_approval')

/**
 * Keeps what one holds for so many seconds more, or lets it be tried again then.
 * @returns whether one still holds it.
 */
export const deferApproval = async (
  connection: Connection,
  approvalId: string,
  holder: string,
  seconds: number = leaseSeconds,
): Promise<boolean> => (await updateDue(connection, { approvalId, holder, seconds })).length === 1

/** What came of it. */
interface ApprovalOutcome {
  readonly approvalId: string
  readonly state: 'done' | 'failed' | 'stale'
  /** Null where the request was not carried out: it is stale. */
  readonly status: number | null
  /** Sealed. */
  readonly outcome: Uint8Array | null
  readonly forgetsPayload: boolean
}

const updateSettled = declare<ApprovalOutcome>('settle_approval')

/** Puts the outcome on record, the first one. @returns whether it was. */
export const settleApproval = async (
  connection: Connection,
  outcome: ApprovalOutcome,
): Promise<boolean> => (await updateSettled(connection, outcome)).length === 1
