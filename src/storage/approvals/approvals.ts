import type { ApprovalKind, ApprovalState } from '../../domain/approval.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** A new request for an approval. */
interface NewApproval {
  readonly approvalId: string
  readonly kind: ApprovalKind
  readonly method: string
  readonly path: string
  /** The scopes of the route, of which the caller needs one. */
  readonly access: readonly string[]
  /** Sealed. */
  readonly payload: Uint8Array
  /** The reason in the request, sealed; null without one. */
  readonly reason: Uint8Array | null
  readonly payloadHash: Uint8Array
  /** JSON. */
  readonly subject: string
  readonly stateDigest: Uint8Array
  readonly requesterId: string
  /** The requester, as JSON; null if a client made the request. */
  readonly requesterPerson: string | null
  /**
   * Everyone who could act as the requester at the time of the request. None of them can approve
   * it.
   */
  readonly requesterParties: readonly string[]
  readonly requestId: string
}

/** A request with its outcome. */
export interface ApprovalRow extends Omit<NewApproval, 'payload'> {
  readonly state: ApprovalState
  /** Null after its deletion. */
  readonly payload: Uint8Array | null
  /** RFC 3339, to the microsecond. */
  readonly requestedAt: string
  readonly expiresAt: Date
  /** Whether the request has expired, by the database's clock. */
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

/** Stores a request. */
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

/** The end of a page of approvals, newest first. */
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

/** Lists approvals, newest first. */
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

/** The decision on an open request. */
export interface ApprovalDecision {
  readonly state: 'approved' | 'refused' | 'withdrawn' | 'expired' | 'stale'
  /** Null if no person decided. */
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

/**
 * Deletes at most `limit` approvals that ended 400 days ago.
 * @returns their number.
 */
export const deleteOldApprovals = async (connection: Connection, limit: number): Promise<number> =>
  (await deleteOld(connection, { limit })).length

const countWaiting = declare<{ requesterId: string }, { count: number }>('count_waiting_approvals')

/** Counts the open requests of a requester. */
export const countWaitingApprovals = async (
  connection: Connection,
  requesterId: string,
): Promise<number> => firstRow(await countWaiting(connection, { requesterId }))?.count ?? 0

const countFor = declare<
  { viewerId: string; scopes: readonly string[]; limit: number },
  { count: number }
>('count_approvals_for')

/** Counts at most `limit` open requests that a viewer with these scopes may decide. */
export const countApprovalsFor = async (
  connection: Connection,
  viewer: { viewerId: string; scopes: readonly string[]; limit: number },
): Promise<number> => firstRow(await countFor(connection, viewer))?.count ?? 0

const countBroken = declare<object, { count: number }>('count_broken_glass')

/** Counts the requesters' approvals of their own requests within the last 30 days. */
export const countBrokenGlass = async (connection: Connection): Promise<number> =>
  firstRow(await countBroken(connection, {}))?.count ?? 0
