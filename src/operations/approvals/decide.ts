import { approvalKinds, freshLoginSeconds, isFreshLogin } from '../../domain/approval.ts'
import { Problem } from '../../domain/problem.ts'
import {
  type ApprovalDecision,
  type ApprovalRow,
  decideApproval,
  findApproval,
  listLateApprovals,
  lockApproval,
} from '../../storage/approvals/approvals.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import {
  type ApprovalContext,
  type OpenedApproval,
  openApproval,
  type Party,
  recordStep,
  type ShownApproval,
  showApproval,
  visibleApproval,
} from './approvals.ts'
import { isRequester, requireAnotherPerson } from './parties.ts'
import { isUnchanged } from './subject-state.ts'

/** The person who decides, with the request id. */
interface Decider extends Party {
  readonly requestId: string
  readonly approvalId: string
}

/**
 * Approves the request of another person or of a client: only the payload with this hash, and only
 * while its subject is unchanged. It is then executed once.
 * @param payloadHash SHA-256, in hexadecimal.
 * @throws `Problem` `not_found`, `approval_over`, `same_person`, `insufficient_scope`,
 *   `login_too_old`, `payload_hash_mismatch`, `unavailable` if it cannot be read, `approval_stale`.
 */
export const approve = (
  approvals: ApprovalContext,
  decider: Decider,
  payloadHash: string,
  request: RepeatableRequest | null,
): Promise<Answer<ShownApproval>> =>
  decide(approvals, decider, request, async (connection, row, opened) => {
    await requireAnotherPerson(approvals, connection, decider, row)
    requireApprover(decider, row)
    if (payloadHash !== Buffer.from(row.payloadHash).toString('hex')) {
      throw new Problem('payload_hash_mismatch')
    }
    requireReadable(opened)
    return passUnlessStale(connection, decider, row, null)
  })

/**
 * Refuses a request. Anyone who can approve it can refuse it, whatever the age of their login.
 * @throws as {@link approve}.
 */
export const refuseRequest = (
  approvals: ApprovalContext,
  decider: Decider,
  reason: string,
  request: RepeatableRequest | null,
): Promise<Answer<ShownApproval>> =>
  decide(approvals, decider, request, (connection, row) => {
    if (isRequester(decider, row)) throw new Problem('same_person')
    requireScope(decider, row)
    return end(connection, decider, row, { state: 'refused', reason })
  })

/**
 * Withdraws the caller's own request.
 * @throws `Problem` `not_found`, `not_requester`, `approval_over`.
 */
export const withdraw = (
  approvals: ApprovalContext,
  decider: Decider,
  request: RepeatableRequest | null,
): Promise<Answer<ShownApproval>> =>
  decide(approvals, decider, request, (connection, row) => {
    if (row.requesterId !== decider.clientId) throw new Problem('not_requester')
    return end(connection, decider, row, { state: 'withdrawn' })
  })

/**
 * Approves the caller's own request in an emergency. The caller needs every right that another
 * approver would need. The act has its own kind, and the service reports it.
 * @throws `Problem` as {@link approve}, and `not_requester`.
 */
export async function breakGlass(
  approvals: ApprovalContext,
  decider: Decider,
  reason: string,
  request: RepeatableRequest | null,
): Promise<Answer<ShownApproval>> {
  const answer = await decide(approvals, decider, request, (connection, row, opened) => {
    if (row.requesterId !== decider.clientId) throw new Problem('not_requester')
    requireApprover(decider, row)
    requireReadable(opened)
    return passUnlessStale(connection, decider, row, reason)
  })
  if (!answer.replayed) approvals.glassBroken(answer.result)
  return answer
}

/** The result of a decision. A refusal is committed first and thrown after the transaction. */
interface Decided {
  readonly row: ApprovalRow
  readonly isRefusal: boolean
}

async function decide(
  approvals: ApprovalContext,
  decider: Decider,
  request: RepeatableRequest | null,
  work: (connection: Connection, row: ApprovalRow, opened: OpenedApproval) => Promise<Decided>,
): Promise<Answer<ShownApproval>> {
  const before = visibleApproval(
    decider,
    await findApproval(approvals.database, decider.approvalId),
  )
  const opened = await openApproval(approvals, decider, before)
  const { replayed, result } = await once(approvals, request, async (connection) => {
    const row = visibleApproval(decider, await lockApproval(connection, decider.approvalId))
    if (row.state !== 'waiting') {
      throw new Problem('approval_over', { detail: `It is ${row.state}.` })
    }
    const decided = row.isLate ? await expire(connection, row) : await work(connection, row, opened)
    const { isRefusal } = decided
    const approval = await showApproval(connection, decided.row, opened)
    return { isRefusal, approval }
  })
  const { approval, isRefusal } = result
  if (isRefusal && approval.state === 'stale') throw new Problem('approval_stale')
  if (isRefusal) throw new Problem('approval_over', { detail: `It is ${approval.state}.` })
  return { replayed, result: approval }
}

/**
 * Rejects the execution of a request whose payload cannot be opened.
 * @throws `Problem` `unavailable`.
 */
function requireReadable({ payload }: OpenedApproval): void {
  if (payload.isReadable) return
  throw new Problem('unavailable', {
    detail: 'The request cannot be read: its key is not in the HSM. Restore the key, or refuse it.',
  })
}

/**
 * @throws `Problem` unless the person can approve the request and signed in within five minutes.
 */
function requireApprover(decider: Decider, row: ApprovalRow): void {
  requireScope(decider, row)
  if (decider.person && isFreshLogin(decider.person, new Date())) return
  // RFC 9470 section 3.
  const challenge = `Bearer error="insufficient_user_authentication", max_age=${freshLoginSeconds}`
  throw new Problem('login_too_old', { headers: { 'www-authenticate': challenge } })
}

/**
 * @throws `Problem` `insufficient_scope` unless the caller is a person with the scope approve and
 *   access to the requested route.
 */
function requireScope({ person, scopes }: Decider, { access }: ApprovalRow): void {
  const isPersonWhoApproves = person !== null && scopes.has('approve')
  if (isPersonWhoApproves && access.some((scope) => scopes.has(scope))) return
  const [first] = isPersonWhoApproves ? access : ['approve']
  throw new Problem('insufficient_scope', {
    detail: isPersonWhoApproves
      ? `The scope ${access.join(' or ')} is also needed, because the act requires it.`
      : 'The caller must be a person with the scope approve.',
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${first}"` },
  })
}

async function passUnlessStale(
  connection: Connection,
  decider: Decider,
  row: ApprovalRow,
  emergency: string | null,
): Promise<Decided> {
  if (!(await isUnchanged(connection, row))) {
    const stale = await commit(connection, row, { state: 'stale' })
    const { clientId, person, requestId } = decider
    await recordStep(connection, 'stale', row, { by: { clientId, person }, requestId })
    return { row: stale, isRefusal: true }
  }
  const passed = await commit(connection, row, {
    state: 'approved',
    ...named(decider),
    decisionReason: emergency,
    brokeGlass: emergency !== null,
  })
  await recordStep(connection, emergency === null ? 'approved' : 'broke glass', row, {
    by: decider,
    requestId: decider.requestId,
    ...(emergency !== null && { reason: emergency }),
  })
  return { row: passed, isRefusal: false }
}

async function end(
  connection: Connection,
  decider: Decider,
  row: ApprovalRow,
  { reason, state }: { readonly state: 'refused' | 'withdrawn'; readonly reason?: string },
): Promise<Decided> {
  const decisionReason = reason ?? null
  const ended = await commit(connection, row, { state, ...named(decider), decisionReason })
  const { requestId } = decider
  await recordStep(connection, state, row, {
    by: decider,
    requestId,
    ...(reason !== undefined && { reason }),
  })
  return { row: ended, isRefusal: false }
}

const named = ({ clientId, person }: Decider) => ({
  deciderId: clientId,
  deciderName: person?.name ?? null,
})

const undecided = { deciderId: null, deciderName: null, decisionReason: null, brokeGlass: false }

async function commit(
  connection: Connection,
  { approvalId, kind }: ApprovalRow,
  decision: Pick<ApprovalDecision, 'state'> & Partial<ApprovalDecision>,
): Promise<ApprovalRow> {
  const isOver = decision.state !== 'approved'
  // Payloads of requests without a decision are deleted; otherwise a requester could fill the
  // database with them.
  const isDropped = ['expired', 'stale', 'withdrawn'].includes(decision.state)
  const forgetsPayload = isDropped || (isOver && approvalKinds[kind].isForgotten)
  const full = { ...undecided, ...decision, forgetsPayload }
  const row = await decideApproval(connection, approvalId, full)
  // The row is locked, so only its expiry can have passed since it was read.
  if (!row) throw new Problem('approval_over', { detail: 'The request has expired.' })
  return row
}

async function expire(connection: Connection, row: ApprovalRow): Promise<Decided> {
  const expired = await commit(connection, row, { state: 'expired' })
  await recordStep(connection, 'expired', row)
  return { row: expired, isRefusal: true }
}

/** The maximum number of approvals that one run expires. */
const expiredAtOnce = 100

/** Expires the requests that are open for more than 24 hours. */
export async function expireApprovals(
  { database }: Pick<ApprovalContext, 'database'>,
  stop: AbortSignal,
): Promise<void> {
  for (const { approvalId } of await listLateApprovals(database, expiredAtOnce)) {
    if (stop.aborted) return
    await database.transaction(async (connection) => {
      const row = await lockApproval(connection, approvalId)
      if (row?.state === 'waiting' && row.isLate) await expire(connection, row)
    })
  }
}
