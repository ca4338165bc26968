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

/** A request that was approved, and whose it is. */
interface ApprovedRequest extends AskedRequest {
  readonly approvalId: string
  /** The person who approved it. */
  readonly approvedBy: string | null
  /** The state that it was approved for: the route compares it once more. */
  readonly drawnFrom: ApprovedState
  readonly requester: {
    readonly clientId: string
    readonly person: Person | null
    /** Those that it has now; none where it is disabled. */
    readonly scopes: ReadonlySet<string>
  }
}

/** What the route answered. */
interface RouteAnswer {
  readonly status: number
  readonly body: unknown
}

/**
 * Sends an approved request, under the approval's id as its idempotency key: however often, it is
 * done once.
 */
export type SendApproved = (request: ApprovedRequest) => Promise<RouteAnswer>

// What a route has answered is forgotten after 24 hours: then it would be done a second time.
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
/** Batches of the audit log that are entered at most before an approval waits for its entries. */
const batchesMost = 4
const backoffMostSeconds = 300

type CarryOutContext = Pick<
  ApprovalContext,
  'database' | 'hsm' | 'enterActs' | 'approvalUnrecorded'
>

/**
 * Carries out what is approved, one after the other, until there is nothing to do now. What could
 * not be done, and what came of it was not put on record, is tried again: the route then answers
 * what it answered first.
 * @param holder names this process. @param stop ends it between two.
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
      // A renewal that fails is followed by another before the lease is over.
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
  // Without a scope the route refuses it, whoever asked.
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
 * Whether the request and its approval are entered in the audit log; enters what was done until now
 * where they are not.
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
      // It is tried again soon, and not once the lease is over.
      await deferApproval(database, row.approvalId, holder, 1)
      throw error
    }
  }
  return findRecorded(database, row, payload)
}

/** Who asked, with the scopes that it has by now. */
async function requesterNow(
  connection: Connection,
  row: ApprovalRow,
): Promise<ApprovedRequest['requester']> {
  const person = parseRequester(row)
  if (person) {
    // As the issuer said at the last sign-in since, if there was one.
    const seen = await findPerson(connection, row.requesterId)
    const roles = seen ? seen.roles.filter(isRole) : person.roles
    return { clientId: row.requesterId, person, scopes: listPersonScopes({ roles }) }
  }
  const client = await findClient(connection, row.requesterId)
  const scopes = new Set(client?.active ? client.scopes : [])
  return { clientId: row.requesterId, person, scopes }
}

/** Whether the route found another state than the one that the request was approved for. */
const isStale = ({ body, status }: RouteAnswer): boolean =>
  status === 409 && findProblemCode(body) === 'approval_stale'

/** Ends an approval that was not carried out, because its subject has changed since. */
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
 * Whether it may be otherwise in a moment: the service is away or busy, or the first of two is at
 * work still.
 */
function isPassing({ body, status }: RouteAnswer): boolean {
  return status >= 500 || status === 429 || findProblemCode(body) === 'idempotency_key_in_use'
}

/** The code of a problem document; undefined in another body. */
const findProblemCode = (body: unknown): unknown =>
  typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined

/**
 * A secret that is shown once is shown to nobody here: what could have one is not taken in the
 * first place.
 */
function withoutSecret(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body ?? null
  const { clientSecret: _, ...rest } = body as Record<string, unknown>
  return rest
}
