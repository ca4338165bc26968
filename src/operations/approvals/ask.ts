import { randomBytes, randomUUID } from 'node:crypto'
import {
  type ApprovalKind,
  type AskedRequest,
  approvalKinds,
  approvalSubject,
  composePayload,
  hashPayload,
  type SealedApprovalPart,
} from '../../domain/approval.ts'
import { Problem } from '../../domain/problem.ts'
import { countWaitingApprovals, insertApproval } from '../../storage/approvals/approvals.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { lockInstallation } from '../../storage/engine/installation.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import {
  type ApprovalContext,
  type Party,
  readablePart,
  recordStep,
  type ShownApproval,
  showApproval,
  storedPerson,
} from './approvals.ts'
import { listRequesterParties } from './parties.ts'
import { computeStateDigest, parseSubject } from './subject-state.ts'

/** A request that needs an approval before its execution. */
interface Wanted extends AskedRequest {
  readonly kind: ApprovalKind
  /** The scopes of the route, of which the caller needs one. */
  readonly access: readonly string[]
  /** The members of its path and its body, by name. */
  readonly members: Readonly<Record<string, unknown>>
  readonly requestId: string
}

/**
 * Stores a request until another person approves it, with the state that it is based on. A repeat
 * under its idempotency key gets the same approval.
 */
export async function requestApproval(
  approvals: ApprovalContext,
  requester: Party,
  wanted: Wanted,
  request: RepeatableRequest | null,
): Promise<Answer<ShownApproval>> {
  const approvalId = randomUUID()
  const payload = composePayload(wanted, randomBytes(16).toString('base64url'))
  const seal = (part: SealedApprovalPart, text: string) =>
    approvals.hsm.sealRecord('approval', approvalSubject(approvalId, part), text)
  const reason = typeof wanted.members.reason === 'string' ? wanted.members.reason : null
  const sealed = {
    payload: await seal('payload', payload),
    // It is shown after the payload was deleted, too.
    reason: reason === null ? null : await seal('reason', reason),
  }
  const opened = {
    payload: readablePart(payload),
    reason: readablePart(reason),
    outcome: readablePart(null),
  }
  const { access, kind, members, method, path, requestId } = wanted
  // Only the payload, which is deleted later, names the subject of an erasure.
  const subject = parseSubject(approvalKinds[kind].isForgotten ? {} : members)
  return once(approvals, request, async (connection) => {
    await refuseTooMany(connection, requester)
    const requesterParties = await listRequesterParties(approvals, connection, requester)
    const row = await insertApproval(connection, {
      approvalId,
      kind,
      method,
      path,
      access,
      requestId,
      ...sealed,
      payloadHash: hashPayload(payload),
      subject: JSON.stringify(subject),
      stateDigest: await computeStateDigest(connection, kind, subject),
      requesterId: requester.clientId,
      requesterPerson: storedPerson(requester.person),
      requesterParties,
    })
    await recordStep(connection, 'asked', row, { by: requester, requestId })
    return showApproval(connection, row, opened)
  })
}

/** The maximum number of open requests of one requester. */
const waitingMost = 20

/** @throws `Problem` `rate_limited` if the requester has too many open requests. */
async function refuseTooMany(connection: Connection, { clientId }: Party): Promise<void> {
  // One at a time, so that concurrent requests are counted, too.
  await lockInstallation(connection)
  if ((await countWaitingApprovals(connection, clientId)) < waitingMost) return
  throw new Problem('rate_limited', {
    detail:
      `The limit of ${waitingMost} open requests of one requester is reached. Withdraw some, ` +
      'or wait for their decision.',
    retryAfterSeconds: 60,
  })
}
