import * as rules from '../../domain/approval.ts'
import type { Person } from '../../domain/person.ts'
import { Problem } from '../../domain/problem.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import { insertAct } from '../../storage/acts/acts.ts'
import {
  type ApprovalFilter,
  type ApprovalPosition,
  type ApprovalRow,
  countApprovalsFor,
  countBrokenGlass,
  findApproval,
  listApprovalRows,
} from '../../storage/approvals/approvals.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { type ApprovalBackground, findBackground } from './background.ts'
import type { ApprovalSubject } from './subject-state.ts'

/** The dependencies of the operations on approvals. */
export interface ApprovalContext {
  readonly database: Database
  readonly hsm: Hsm
  /** The kinds of acts that need an approval in this installation. */
  readonly required: ReadonlySet<rules.ApprovalKind>
  /**
   * The maximum number of cards that one operator can unblock in bulk within an hour without an
   * approval.
   */
  readonly unblockCardsMost: number
  /** Whether a client that no operator registered can request acts that need an approval. */
  readonly takesFirstAdministrators: boolean
  /**
   * Enters a batch of acts in the audit log.
   * @returns the number of entries.
   */
  enterActs(): Promise<number>
  /** Reports an approval that is in the database but not in the audit log. */
  approvalUnrecorded(approval: Pick<Approval, 'approvalId' | 'kind'>): void
  /** Reports an emergency approval of the requester's own request. */
  glassBroken(approval: Approval): void
}

/** The caller: a client system or a person, as the token states. */
export interface Party {
  readonly clientId: string
  readonly person: Person | null
  readonly scopes: ReadonlySet<string>
}

/** A party as shown to other people. */
interface NamedParty {
  readonly id: string
  /** Null for a client. */
  readonly name: string | null
  readonly isPerson: boolean
}

/** A request with its outcome. */
export interface Approval {
  readonly approvalId: string
  readonly kind: rules.ApprovalKind
  readonly description: string
  readonly state: rules.ApprovalState
  readonly method: string
  readonly path: string
  /** The key, link or client that the request names; null without one. */
  readonly subject: string | null
  /** The reason in the request; null without one. */
  readonly reason: string | null
  /**
   * Whether its sealed parts could be opened: of a listed one the reason, of a shown one also the
   * payload and the outcome. Their key may be lost.
   */
  readonly isReadable: boolean
  /** The scopes of the route. The caller and the approver each need one of them. */
  readonly scopes: readonly string[]
  /** SHA-256 of the payload, in hexadecimal. */
  readonly payloadHash: string
  readonly requestedBy: NamedParty
  readonly requestedAt: string
  readonly expiresAt: string
  /** The person who approved, refused or withdrew it. */
  readonly decidedBy: NamedParty | null
  readonly decidedAt: string | null
  readonly decisionReason: string | null
  readonly brokeGlass: boolean
  /** The status of the route's answer; null before. */
  readonly outcomeStatus: number | null
  readonly endedAt: string | null
}

/** An approval with everything that is shown of it. */
export interface ShownApproval extends Approval, ApprovalBackground {
  /** The exact text of the hash; null after its deletion. */
  readonly payload: string | null
  /** The route's answer; null before, and for callers without access to that route. */
  readonly outcome: unknown
}

/** Returns the stored form of a person, which accompanies the id. */
export const storedPerson = (person: Person | null): string | null =>
  person && JSON.stringify(person)

/** Parses the requester of a request; null if a client made it. */
export function parseRequester({ requesterPerson }: ApprovalRow): Person | null {
  if (requesterPerson === null) return null
  const stored = JSON.parse(requesterPerson) as Person
  return { ...stored, authenticatedAt: new Date(stored.authenticatedAt) }
}

/**
 * Describes the parts that every reader of approvals can see.
 * @param opened the opened reason, and whether everything could be opened.
 */
function describeApproval(
  row: ApprovalRow,
  opened: Pick<Approval, 'reason' | 'isReadable'>,
): Approval {
  const requester = parseRequester(row)
  const { deciderId, deciderName, kind } = row
  return {
    approvalId: row.approvalId,
    kind,
    description: rules.approvalKinds[kind].description,
    state: row.state,
    method: row.method,
    path: row.path,
    subject: nameSubject(JSON.parse(row.subject) as ApprovalSubject),
    ...opened,
    scopes: row.access,
    payloadHash: Buffer.from(row.payloadHash).toString('hex'),
    requestedBy: {
      id: row.requesterId,
      name: requester?.name ?? null,
      isPerson: requester !== null,
    },
    requestedAt: new Date(row.requestedAt).toISOString(),
    expiresAt: row.expiresAt.toISOString(),
    decidedBy: deciderId === null ? null : composeParty(deciderId, deciderName),
    decidedAt: row.decidedAt?.toISOString() ?? null,
    decisionReason: row.decisionReason,
    brokeGlass: row.brokeGlass,
    outcomeStatus: row.outcomeStatus,
    endedAt: row.endedAt?.toISOString() ?? null,
  }
}

/** A key and a link belong to a client: they are the nearer subject. */
const nameSubject = ({ clientId, key, linkName }: ApprovalSubject): string | null =>
  key ?? linkName ?? clientId

const composeParty = (id: string, name: string | null): NamedParty => ({
  id,
  name,
  isPerson: name !== null,
})

/** An opened part of an approval. */
interface OpenedPart {
  /** Null if the approval has no such part, or it cannot be opened. */
  readonly text: string | null
  readonly isReadable: boolean
}

/** The opened parts of an approval. */
export type OpenedApproval = Readonly<Record<rules.SealedApprovalPart, OpenedPart>>

/** Returns a part whose text is known. */
export const readablePart = (text: string | null): OpenedPart => ({ text, isReadable: true })

/**
 * Opens a sealed part of an approval.
 * @throws `Problem` `unavailable` if the HSM gives no answer.
 */
async function openPart(
  hsm: Hsm,
  row: ApprovalRow,
  part: rules.SealedApprovalPart,
): Promise<OpenedPart> {
  const sealed = row[part]
  if (sealed === null) return readablePart(null)
  const subject = rules.approvalSubject(row.approvalId, part)
  try {
    return readablePart(await hsm.revealRecord('approval', subject, sealed))
  } catch (error) {
    // An outage passes. Other failures stay: the key is lost, or the bytes were changed.
    if (error instanceof Problem) throw error
    return { text: null, isReadable: false }
  }
}

/**
 * Opens what a viewer may see of an approval. It must run outside a transaction: the HSM reads its
 * keys again if it misses one.
 * @throws `Problem` `unavailable` if the HSM gives no answer.
 */
export const openApproval = async (
  { hsm }: Pick<ApprovalContext, 'hsm'>,
  viewer: Party,
  row: ApprovalRow,
): Promise<OpenedApproval> => ({
  payload: await openPart(hsm, row, 'payload'),
  reason: await openPart(hsm, row, 'reason'),
  // It may be a key block.
  outcome: maySeeOutcome(viewer, row) ? await openPart(hsm, row, 'outcome') : readablePart(null),
})

/** Whether a viewer made the request, or has access to its route. */
const maySeeOutcome = (viewer: Party, { access, requesterId }: ApprovalRow): boolean =>
  viewer.clientId === requesterId || access.some((scope) => viewer.scopes.has(scope))

/**
 * Shows an opened approval.
 * @param row as it is now: a decision may have deleted the payload since it was opened.
 */
export async function showApproval(
  connection: Connection,
  row: ApprovalRow,
  opened: OpenedApproval,
): Promise<ShownApproval> {
  const payload = row.payload === null ? null : opened.payload.text
  const outcome = opened.outcome.text
  const isReadable = Object.values(opened).every((part) => part.isReadable)
  return {
    ...describeApproval(row, { reason: opened.reason.text, isReadable }),
    ...(await findBackground(connection, row, payload)),
    payload,
    outcome: outcome === null ? null : (JSON.parse(outcome) as unknown),
  }
}

/** Whether a viewer sees all approvals; others see their own. */
const seesAll = ({ scopes }: Party): boolean =>
  ['approve', 'audit.read', 'admin'].some((scope) => scopes.has(scope))

/**
 * Returns an approval as it is stored.
 * @throws `Problem` `not_found` if this viewer has no access to it.
 */
export const visibleApproval = (viewer: Party, row: ApprovalRow | null): ApprovalRow => {
  if (!row || !(seesAll(viewer) || row.requesterId === viewer.clientId)) {
    throw new Problem('not_found')
  }
  return row
}

/**
 * Returns one approval.
 * @throws `Problem` `not_found`.
 */
export const findShownApproval = async (
  approvals: Pick<ApprovalContext, 'database' | 'hsm'>,
  viewer: Party,
  approvalId: string,
): Promise<ShownApproval> => {
  const row = visibleApproval(viewer, await findApproval(approvals.database, approvalId))
  return showApproval(approvals.database, row, await openApproval(approvals, viewer, row))
}

/** An approval with its position in the list. */
type ListedApproval = Approval & { readonly position: ApprovalPosition }

/** Lists approvals, newest first. A viewer without access to all gets their own. */
export async function listApprovals(
  { database, hsm }: Pick<ApprovalContext, 'database' | 'hsm'>,
  viewer: Party,
  filter: ApprovalFilter,
  page: { readonly after: ApprovalPosition | null; readonly limit: number },
): Promise<readonly ListedApproval[]> {
  const isOwn = filter.requesterId === null || filter.requesterId === viewer.clientId
  if (!isOwn && !seesAll(viewer)) return []
  const requesterId = seesAll(viewer) ? filter.requesterId : viewer.clientId
  const { state } = filter
  const rows = await listApprovalRows(database, { state, requesterId }, page.after, page.limit)
  return Promise.all(
    rows.map(async (row) => {
      const { isReadable, text: reason } = await openPart(hsm, row, 'reason')
      return { ...describeApproval(row, { reason, isReadable }), position: row }
    }),
  )
}

/**
 * Counts the approvals that wait for a viewer: requests of others whose act the viewer may do. It
 * opens none of them.
 */
export const countWaitingFor = async (
  { database }: Pick<ApprovalContext, 'database'>,
  { clientId, scopes }: Party,
): Promise<number> =>
  scopes.has('approve')
    ? countApprovalsFor(database, {
        viewerId: clientId,
        scopes: [...scopes],
        limit: rules.countedMost,
      })
    : 0

/** Counts the requesters' approvals of their own requests within the last 30 days. */
export const countBrokenGlassUses = ({
  database,
}: Pick<ApprovalContext, 'database'>): Promise<number> => countBrokenGlass(database)

/** A step in the life of an approval. */
type ApprovalStep =
  | 'asked'
  | 'approved'
  | 'refused'
  | 'withdrawn'
  | 'expired'
  | 'stale'
  | 'carried out'
  | 'broke glass'
  | 'unrecorded'

/**
 * Records a step, in its transaction, with the hash of the payload, and the issuer and subject of
 * the person.
 */
export async function recordStep(
  connection: Connection,
  act: ApprovalStep,
  { approvalId, kind, payloadHash }: Pick<ApprovalRow, 'approvalId' | 'kind' | 'payloadHash'>,
  {
    by = null,
    requestId = null,
    ...details
  }: {
    readonly by?: Pick<Party, 'clientId' | 'person'> | null
    readonly requestId?: string | null
    readonly reason?: string
    readonly status?: number
  } = {},
): Promise<void> {
  const person = by?.person && { issuer: by.person.issuer, subject: by.person.subject }
  await insertAct(connection, {
    act,
    subjectKind: 'approval',
    subject: approvalId,
    details: JSON.stringify({
      kind,
      payloadHash: Buffer.from(payloadHash).toString('hex'),
      ...(person && { person }),
      ...details,
    }),
    clientId: by?.clientId ?? null,
    requestId,
  })
}
