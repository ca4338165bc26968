import type { ApprovalKind, ApprovalState } from '../../domain/approval.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** Something that was asked for, as it is asked for. */
interface NewApproval {
  readonly approvalId: string
  readonly kind: ApprovalKind
  readonly method: string
  readonly path: string
  /** The scopes of which the route asks for one. */
  readonly access: readonly string[]
  /** Sealed. */
  readonly payload: Uint8Array
  readonly payloadHash: Uint8Array
  /** JSON. */
  readonly subject: string
  readonly stateDigest: Uint8Array
  readonly requesterId: string
  /** The person who asked, as JSON; null where a client did. */
  readonly requesterPerson: string | null
  /** Everyone who could have acted for the requester when it asked, and cannot approve it. */
  readonly requesterParties: readonly string[]
  readonly requestId: string
}

/** What was asked for, and what became of it. */
export interface ApprovalRow extends Omit<NewApproval, 'payload'> {
  readonly state: ApprovalState
  /** Null once it is forgotten. */
  readonly payload: Uint8Array | null
  /** RFC 3339, to the microsecond. */
  readonly requestedAt: string
  readonly expiresAt: Date
  /** Whether it was asked for too long ago, by the database's clock. */
  readonly isLate: boolean
  readonly deciderId: string | null
  readonly deciderName: string | null
  readonly decisionReason: string | null
  readonly decidedAt: Date | null
  readonly brokeGlass: boolean
  readonly attempts: number
  readonly outcomeStatus: number | null
  /** Sealed. */
  readonly outcome: Uint8Array | null
  readonly endedAt: Date | null
}

const insert = declare<NewApproval, ApprovalRow>('insert_approval')

/** Puts on record what is asked for. */
export async function insertApproval(
  connection: Connection,
  asked: NewApproval,
): Promise<ApprovalRow> {
  const row = firstRow(await insert(connection, asked))
  if (!row) throw new Error('The database did not keep an approval.')
  return row
}

const selectApproval = declare<{ approvalId: string }, ApprovalRow>('find_approval')

export const findApproval = async (
  connection: Connection,
  approvalId: string,
): Promise<ApprovalRow | null> => firstRow(await selectApproval(connection, { approvalId }))

const selectLocked = declare<{ approvalId: string }, ApprovalRow>('lock_approval')

/** Returns an approval and locks it until the transaction ends: other decisions wait. */
export const lockApproval = async (
  connection: Connection,
  approvalId: string,
): Promise<ApprovalRow | null> => firstRow(await selectLocked(connection, { approvalId }))

/** Where a page of approvals ends: newest first. */
export interface ApprovalPosition {
  readonly requestedAt: string
  readonly approvalId: string
}

const newest: ApprovalPosition = {
  requestedAt: 'infinity',
  approvalId: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
}

/** Filters approvals; null: any state, or any requester. */
export interface ApprovalFilter {
  readonly state: ApprovalState | null
  readonly requesterId: string | null
}

interface Page extends ApprovalPosition {
  readonly limit: number
}

const selectApprovals = declare<Page, ApprovalRow>('list_approvals')
const selectByState = declare<Page & { state: ApprovalState }, ApprovalRow>(
  'list_approvals_by_state',
)
const selectByRequester = declare<
  Page & { state: ApprovalState | null; requesterId: string },
  ApprovalRow
>('list_approvals_by_requester')

/** Approvals, the newest first. */
export const listApprovalRows = (
  connection: Connection,
  { requesterId, state }: ApprovalFilter,
  after: ApprovalPosition | null,
  limit: number,
): Promise<ApprovalRow[]> => {
  const page = { ...(after ?? newest), limit }
  if (requesterId !== null) return selectByRequester(connection, { ...page, state, requesterId })
  return state === null
    ? selectApprovals(connection, page)
    : selectByState(connection, { ...page, state })
}

/** How something that waits is decided. */
export interface ApprovalDecision {
  readonly state: 'approved' | 'refused' | 'withdrawn' | 'expired' | 'stale'
  /** Null where nobody decided. */
  readonly deciderId: string | null
  readonly deciderName: string | null
  readonly decisionReason: string | null
  readonly brokeGlass: boolean
  readonly forgetsPayload: boolean
}

const updateDecided = declare<ApprovalDecision & { approvalId: string }, ApprovalRow>(
  'decide_approval',
)

/**
 * Decides a waiting approval. An approved one is queued for execution.
 * @returns the approval; null when another decision came first, or it has expired.
 */
export const decideApproval = async (
  connection: Connection,
  approvalId: string,
  decision: ApprovalDecision,
): Promise<ApprovalRow | null> =>
  firstRow(await updateDecided(connection, { ...decision, approvalId }))

const selectLate = declare<{ limit: number }, { readonly approvalId: string }>(
  'list_late_approvals',
)

/** Lists approvals that have waited too long, oldest first. */
export const listLateApprovals = (
  connection: Connection,
  limit: number,
): Promise<{ readonly approvalId: string }[]> => selectLate(connection, { limit })

const deleteOld = declare<{ limit: number }>('prune_approvals')

/** Forgets at most `limit` approvals that ended 400 days ago. @returns how many they were. */
export const deleteOldApprovals = async (connection: Connection, limit: number): Promise<number> =>
  (await deleteOld(connection, { limit })).length

const countWaiting = declare<{ requesterId: string }, { count: number }>('count_waiting_approvals')

/** Counts a requester's requests that wait for another person. */
export const countWaitingApprovals = async (
  connection: Connection,
  requesterId: string,
): Promise<number> => firstRow(await countWaiting(connection, { requesterId }))?.count ?? 0

const countBroken = declare<object, { count: number }>('count_broken_glass')

/** Counts the requesters' approvals of their own requests within the last 30 days. */
export const countBrokenGlass = async (connection: Connection): Promise<number> =>
  firstRow(await countBroken(connection, {}))?.count ?? 0
