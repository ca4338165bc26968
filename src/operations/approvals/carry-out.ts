import {
  type ApprovedState,
  type AskedRequest,
  approvalKinds,
  approvalSubject,
  parsePayload,
} from '../../domain/approval.ts'
import { isRole, listPersonScopes, type Person } from '../../domain/person.ts'
import { type ApprovalRow, findApproval } from '../../storage/approvals/approvals.ts'
import {
  type ClaimedApproval,
  claimApproval,
  deferApproval,
  settleApproval,
} from '../../storage/approvals/queue.ts'
import { findClient } from '../../storage/clients/clients.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { findPerson } from '../../storage/people/people.ts'
import { type ApprovalContext, parseRequester, recordStep } from './approvals.ts'
import { findRecorded } from './recorded-steps.ts'

/** An approved request and its requester. */
interface ApprovedRequest extends AskedRequest {
  readonly approvalId: string
  /** The person who approved it. */
  readonly approvedBy: string | null
  /** The state that was approved. The route compares it again. */
  readonly drawnFrom: ApprovedState
  readonly requester: {
    readonly clientId: string
    readonly person: Person | null
    /** The present scopes; none if the client is disabled. */
    readonly scopes: ReadonlySet<string>
  }
}

/** The answer of the route. */
interface RouteAnswer {
  readonly status: number
  readonly body: unknown
}

/**
 * Sends an approved request with the approval's id as its idempotency key, so that it is executed
 * once.
 */
export type SendApproved = (request: ApprovedRequest) => Promise<RouteAnswer>

// Routes delete their answers after 24 hours. A retry after that would execute the request again.
const givenUp: RouteAnswer = {
  status: 503,
  body: {
    code: 'unavailable',
    detail:
      'The request was approved 12 hours ago, and its answer is unknown. Check whether it was ' +
      'executed.',
  },
}

const unrecorded: RouteAnswer = {
  status: 403,
  body: {
    code: 'same_person',
    detail:
      'The request was not executed: the audit log has no approval by another person. Find out ' +
      'who wrote its row in the database.',
  },
}

const renewEveryMs = 20_000
/** The maximum number of audit log batches before an approval waits for its entries. */
const batchesMost = 4
const backoffMostSeconds = 300

type CarryOutContext = Pick<
  ApprovalContext,
  'database' | 'hsm' | 'enterActs' | 'approvalUnrecorded'
>

/**
 * Executes approved requests one after the other, until none is due. A request whose outcome was
 * not recorded is sent again: the route then returns its first answer.
 * @param holder names this process.
 * @param stop ends it between two requests.
 */
export async function carryOutApproved(
  approvals: CarryOutContext,
  send: SendApproved,
  holder: string,
  stop: AbortSignal,
): Promise<void> {
  const { database } = approvals
  while (!stop.aborted) {
    const claimed = await claimApproval(database, holder)
    if (!claimed) return
    const renewing = setInterval(
      // A failed renewal is followed by another one before the lease ends.
      () => deferApproval(database, claimed.approvalId, holder).catch(() => undefined),
      renewEveryMs,
    )
    try {
      await carryOut(approvals, send, claimed, holder)
    } finally {
      clearInterval(renewing)
    }
  }
}

async function carryOut(
  approvals: CarryOutContext,
  send: SendApproved,
  { approvalId, attempts, isTooOld }: ClaimedApproval,
  holder: string,
): Promise<void> {
  const { database, hsm } = approvals
  const row = await findApproval(database, approvalId)
  if (row?.state !== 'approved' || row.payload === null) return
  const payload = await hsm.revealRecord(
    'approval',
    approvalSubject(approvalId, 'payload'),
    row.payload,
  )
  const requester = await requesterNow(database, row)
  // Without a scope, the route refuses the request of any caller.
  const isKnown = requester.scopes.size === 0 || isTooOld
  const recorded = isKnown ? 'recorded' : await findEntered(approvals, row, payload, holder)
  if (recorded === 'entering') {
    await deferApproval(database, approvalId, holder, 1)
    return
  }
  if (recorded === 'missing') approvals.approvalUnrecorded(row)
  const approved = {
    ...parsePayload(payload),
    approvalId,
    approvedBy: row.deciderId,
    drawnFrom: row,
    requester,
  }
  const refused = recorded === 'missing' ? unrecorded : givenUp
  const answer = recorded === 'missing' || isTooOld ? refused : await send(approved)
  if (isPassing(answer) && !isTooOld) {
    const seconds = Math.min(2 ** Math.min(attempts, 10), backoffMostSeconds)
    await deferApproval(database, approvalId, holder, seconds)
    return
  }
  if (isStale(answer)) {
    await settleStale(database, row)
    return
  }
  const { status } = answer
  const outcome = await hsm.sealRecord(
    'approval',
    approvalSubject(approvalId, 'outcome'),
    JSON.stringify(withoutSecret(answer.body)),
  )
  await database.transaction(async (connection) => {
    const state = status < 300 ? 'done' : 'failed'
    const { isForgotten: forgetsPayload } = approvalKinds[row.kind]
    const isFirst = await settleApproval(connection, {
      approvalId,
      state,
      status,
      outcome,
      forgetsPayload,
    })
    const step = recorded === 'missing' ? 'unrecorded' : 'carried out'
    if (isFirst) await recordStep(connection, step, row, { status })
  })
}

/**
 * Checks whether the request and its approval are in the audit log; otherwise enters the acts so
 * far.
 */
async function findEntered(
  { database, enterActs }: CarryOutContext,
  row: ApprovalRow,
  payload: string,
  holder: string,
): ReturnType<typeof findRecorded> {
  for (let batch = 0; batch < batchesMost; batch += 1) {
    const recorded = await findRecorded(database, row, payload)
    if (recorded !== 'entering') return recorded
    try {
      if ((await enterActs()) === 0) break
    } catch (error) {
      // Retries soon, not only after the lease has ended.
      await deferApproval(database, row.approvalId, holder, 1)
      throw error
    }
  }
  return findRecorded(database, row, payload)
}

/** Returns the requester with their present scopes. */
async function requesterNow(
  connection: Connection,
  row: ApprovalRow,
): Promise<ApprovedRequest['requester']> {
  const person = parseRequester(row)
  if (person) {
    // The name of the last sign-in since then, if there was one.
    const seen = await findPerson(connection, row.requesterId)
    const roles = seen ? seen.roles.filter(isRole) : person.roles
    return { clientId: row.requesterId, person, scopes: listPersonScopes({ roles }) }
  }
  const client = await findClient(connection, row.requesterId)
  const scopes = new Set(client?.active ? client.scopes : [])
  return { clientId: row.requesterId, person, scopes }
}

/** Whether the route found another state than the approved one. */
const isStale = ({ body, status }: RouteAnswer): boolean =>
  status === 409 && findProblemCode(body) === 'approval_stale'

/** Ends an approval that was not executed because its subject has changed. */
const settleStale = (database: CarryOutContext['database'], row: ApprovalRow): Promise<void> =>
  database.transaction(async (connection) => {
    const isFirst = await settleApproval(connection, {
      approvalId: row.approvalId,
      state: 'stale',
      status: null,
      outcome: null,
      forgetsPayload: true,
    })
    if (isFirst) await recordStep(connection, 'stale', row)
  })

/**
 * Whether a retry may succeed: the service is unavailable or busy, or a concurrent request is still
 * running.
 */
function isPassing({ body, status }: RouteAnswer): boolean {
  return status >= 500 || status === 429 || findProblemCode(body) === 'idempotency_key_in_use'
}

/** Returns the code of a problem document; undefined for other bodies. */
const findProblemCode = (body: unknown): unknown =>
  typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined

/**
 * Removes one-time secrets. Requests that could return one are not accepted for approval, so this
 * is a second line of defence.
 */
function withoutSecret(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body ?? null
  const { clientSecret: _, ...rest } = body as Record<string, unknown>
  return rest
}
