import type { ApprovalKind, ApprovalState } from '../../domain/approval.ts'
import { type Connection, firstRow, onKey, statement } from '../engine/database.ts'

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

const lifetime = `interval '24 hours'`

const columns = `approval_id::text as "approvalId", kind, state, method, path, access, payload,
  payload_hash as "payloadHash", subject, state_digest as "stateDigest", requester_id as "requesterId",
  requester_person as "requesterPerson", requester_parties as "requesterParties", request_id as "requestId",
  to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "requestedAt",
  requested_at + ${lifetime} as "expiresAt", clock_timestamp() - requested_at > ${lifetime} as "isLate",
  decider_id as "deciderId", decider_name as "deciderName", decision_reason as "decisionReason",
  decided_at as "decidedAt", broke_glass as "brokeGlass", attempts, outcome_status as "outcomeStatus", outcome,
  ended_at as "endedAt"`

const insertStatement = statement(
  'insert_approval',
  `insert into approval (approval_id, kind, method, path, access, payload, payload_hash, subject, state_digest,
     requester_id, requester_person, request_id, requester_parties)
   values ($1::uuid, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::text[])
   returning ${columns}`,
)

/** Puts on record what is asked for. */
export async function insertApproval(
  connection: Connection,
  asked: NewApproval,
): Promise<ApprovalRow> {
  const row = firstRow<ApprovalRow>(
    await connection.query(insertStatement, [
      ...[asked.approvalId, asked.kind, asked.method, asked.path, asked.access],
      ...[asked.payload, asked.payloadHash, asked.subject, asked.stateDigest],
      ...[asked.requesterId, asked.requesterPerson, asked.requestId, asked.requesterParties],
    ]),
  )
  if (!row) throw new Error('The database did not keep an approval.')
  return row
}

const findText = `select ${columns} from approval where approval_id = $1::uuid`
const findStatement = statement('find_approval', findText)
const lockStatement = statement('lock_approval', `${findText} for update`)

export const findApproval = async (
  connection: Connection,
  approvalId: string,
): Promise<ApprovalRow | null> =>
  firstRow(await connection.query<ApprovalRow>(findStatement, [approvalId]))

/** The same, locked to the end of the transaction: whoever else decides it waits. */
export const lockApproval = async (
  connection: Connection,
  approvalId: string,
): Promise<ApprovalRow | null> =>
  firstRow(await connection.query<ApprovalRow>(lockStatement, [approvalId]))

/** Where a page of approvals ends: newest first. */
export interface ApprovalPosition {
  readonly requestedAt: string
  readonly approvalId: string
}

const newest: ApprovalPosition = {
  requestedAt: 'infinity',
  approvalId: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
}

const listText = (where: string, order: string): string =>
  `select ${columns} from approval where ${where} order by ${order} limit $3`

// Each list walks an index of its own from where it begins, whatever the planner takes the table for.
const listAllStatement = statement(
  'list_approvals',
  listText(
    '(requested_at, approval_id) < ($1::timestamptz, $2::uuid)',
    'requested_at desc, approval_id desc',
  ),
)
const listByStateStatement = statement(
  'list_approvals_by_state',
  listText(
    '(state, requested_at, approval_id) < ($4::text, $1::timestamptz, $2::uuid) and state >= $4',
    'state desc, requested_at desc, approval_id desc',
  ),
)
const listByRequesterStatement = statement(
  'list_approvals_by_requester',
  listText(
    `(requester_id, requested_at, approval_id) < ($5::text, $1::timestamptz, $2::uuid)
       and requester_id >= $5 and ($4::text is null or state = $4)`,
    'requester_id desc, requested_at desc, approval_id desc',
  ),
)

/** Which approvals are listed; null: of all states, or whoever asked. */
export interface ApprovalFilter {
  readonly state: ApprovalState | null
  readonly requesterId: string | null
}

/** Approvals, the newest first. */
export const findApprovals = (
  connection: Connection,
  { requesterId, state }: ApprovalFilter,
  after: ApprovalPosition | null,
  limit: number,
): Promise<ApprovalRow[]> => {
  const { approvalId, requestedAt } = after ?? newest
  const page = [requestedAt, approvalId, limit]
  if (requesterId !== null) {
    return connection.query(listByRequesterStatement, [...page, state, requesterId])
  }
  return state === null
    ? connection.query(listAllStatement, page)
    : connection.query(listByStateStatement, [...page, state])
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

const decideStatement = statement(
  'decide_approval',
  `update approval set state = $2, decider_id = $3, decider_name = $4, decision_reason = $5, broke_glass = $6,
     decided_at = case when $3::text is not null then clock_timestamp() end,
     due_at = case when $2 = 'approved' then clock_timestamp() end,
     ended_at = case when $2 <> 'approved' then clock_timestamp() end,
     payload = case when not $7::boolean then payload end
   where approval_id = $1::uuid and state = 'waiting'
     and ($2 <> 'approved' or clock_timestamp() - requested_at <= ${lifetime})
   returning ${columns}`,
)

/**
 * Decides what still waits. What is approved is in the queue of what is carried out from then on. @returns it; null where
 * somebody else was quicker, or it is too late.
 */
export const decideApproval = async (
  connection: Connection,
  approvalId: string,
  decision: ApprovalDecision,
): Promise<ApprovalRow | null> => {
  const { brokeGlass, deciderId, deciderName, decisionReason, forgetsPayload, state } = decision
  const values = [state, deciderId, deciderName, decisionReason, brokeGlass, forgetsPayload]
  return firstRow(await connection.query<ApprovalRow>(decideStatement, [approvalId, ...values]))
}

const lateStatement = statement(
  'list_late_approvals',
  `select approval_id::text as "approvalId" from approval
   where state = 'waiting' and requested_at < (select clock_timestamp() - ${lifetime})
   order by requested_at limit $1`,
)

/** What waits and was asked for too long ago, the oldest first. */
export const listLateApprovals = (
  connection: Connection,
  limit: number,
): Promise<{ readonly approvalId: string }[]> => connection.query(lateStatement, [limit])

const pruneStatement = statement(
  'prune_approvals',
  `with over as materialized (
     select approval_id from approval
     where ended_at < (select clock_timestamp() - interval '400 days') order by ended_at limit $1
   )
   delete from approval using over where ${onKey('approval', 'over', ['approval_id'])}
     and clock_timestamp() - ended_at > interval '400 days'
   returning 1 as "one"`,
)

/** Forgets at most `limit` approvals that ended 400 days ago. @returns how many they were. */
export const pruneApprovals = async (connection: Connection, limit: number): Promise<number> =>
  (await connection.query(pruneStatement, [limit])).length

const waitingStatement = statement(
  'count_waiting_approvals',
  `select count(*)::integer as "count" from approval
   where requester_id = $1 and state = 'waiting'
     and requested_at > (select clock_timestamp() - ${lifetime})`,
)

/** How many requests of somebody wait for another person. */
export const countWaitingApprovals = async (
  connection: Connection,
  requesterId: string,
): Promise<number> =>
  firstRow<{ count: number }>(await connection.query(waitingStatement, [requesterId]))?.count ?? 0

const glassStatement = statement(
  'count_broken_glass',
  `select count(*)::integer as "count" from approval
   where broke_glass and decided_at > (select clock_timestamp() - interval '30 days')`,
)

/** How often somebody let their own request pass within the last 30 days. */
export const countBrokenGlass = async (connection: Connection): Promise<number> =>
  firstRow<{ count: number }>(await connection.query(glassStatement))?.count ?? 0
