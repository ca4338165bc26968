import * as rules from '../../domain/approval.ts'
import type { Person } from '../../domain/person.ts'
import { Problem } from '../../domain/problem.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import { insertAct } from '../../storage/acts/acts.ts'
import {
  type ApprovalFilter,
  type ApprovalPosition,
  type ApprovalRow,
  countBrokenGlass,
  findApproval,
  listApprovalRows,
} from '../../storage/approvals/approvals.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { type ApprovalBackground, findBackground } from './background.ts'

/** What the operations on approvals work with. */
export interface ApprovalContext {
  readonly database: Database
  readonly hsm: Hsm
  /** What needs one here. */
  readonly required: ReadonlySet<rules.ApprovalKind>
  /** So many cards does one operator unblock together in an hour without one. */
  readonly unblockCardsMost: number
  /** Whether a client that was registered by nobody here may request what needs one. */
  readonly takesFirstAdministrators: boolean
  /** Enters acts in the audit log, a batch of them. @returns how many entries it had. */
  enterActs(): Promise<number>
  /** Tells whoever watches that a row says that it is approved, and the audit log does not. */
  approvalUnrecorded(approval: Pick<Approval, 'approvalId' | 'kind'>): void
  /** Tells whoever watches that somebody let their own request pass. */
  glassBroken(approval: Approval): void
}

/** Who acts: a client system or a person, as its token says. */
export interface Party {
  readonly clientId: string
  readonly person: Person | null
  readonly scopes: ReadonlySet<string>
}

/** Somebody as others read it. */
interface NamedParty {
  readonly id: string
  /** Null of a client. */
  readonly name: string | null
  readonly isPerson: boolean
}

/** Something that was asked for, and what became of it. */
export interface Approval {
  readonly approvalId: string
  readonly kind: rules.ApprovalKind
  readonly description: string
  readonly state: rules.ApprovalState
  readonly method: string
  readonly path: string
  /** The scopes of which the route asks for one, and whoever approves has to have one, too. */
  readonly scopes: readonly string[]
  /** SHA-256 of the payload, in hexadecimal. */
  readonly payloadHash: string
  readonly requestedBy: NamedParty
  readonly requestedAt: string
  readonly expiresAt: string
  /** Who approved, refused or withdrew it. */
  readonly decidedBy: NamedParty | null
  readonly decidedAt: string | null
  readonly decisionReason: string | null
  readonly brokeGlass: boolean
  /** The status that the route answered; null before. */
  readonly outcomeStatus: number | null
  readonly endedAt: string | null
}

/** One approval, with all that is shown of it. */
export interface ShownApproval extends Approval, ApprovalBackground {
  /** The exact text that the hash is of; null once it is forgotten. */
  readonly payload: string | null
  /** What the route answered; null before, and for who may not call that route. */
  readonly outcome: unknown
}

/** Who asked, as it is stored beside the id. */
export const storedPerson = (person: Person | null): string | null =>
  person && JSON.stringify(person)

/** The person who asked for something; null where a client did. */
export function parseRequester({ requesterPerson }: ApprovalRow): Person | null {
  if (requesterPerson === null) return null
  const stored = JSON.parse(requesterPerson) as Person
  return { ...stored, authenticatedAt: new Date(stored.authenticatedAt) }
}

/** What everybody may read who may read approvals. */
function describeApproval(row: ApprovalRow): Approval {
  const requester = parseRequester(row)
  const { deciderId, deciderName, kind } = row
  return {
    approvalId: row.approvalId,
    kind,
    description: rules.approvalKinds[kind].description,
    state: row.state,
    method: row.method,
    path: row.path,
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

const composeParty = (id: string, name: string | null): NamedParty => ({
  id,
  name,
  isPerson: name !== null,
})

/** An approval with its payload and, where the viewer may have it, its outcome. */
export async function showApproval(
  { hsm }: Pick<ApprovalContext, 'hsm'>,
  connection: Connection,
  viewer: Party,
  row: ApprovalRow,
): Promise<ShownApproval> {
  const open = (column: 'payload' | 'outcome', sealed: Uint8Array | null) =>
    sealed && hsm.revealRecord('approval', rules.approvalSubject(row.approvalId, column), sealed)
  // It may be a key block: whoever could not have asked for it does not get it here, either.
  const mayHave =
    viewer.clientId === row.requesterId || row.access.some((scope) => viewer.scopes.has(scope))
  const payload = await open('payload', row.payload)
  const outcome = mayHave ? await open('outcome', row.outcome) : null
  return {
    ...describeApproval(row),
    ...(await findBackground(connection, row, payload)),
    payload,
    outcome: outcome === null ? null : (JSON.parse(outcome) as unknown),
  }
}

/** Whoever may not see them all sees their own. */
const seesAll = ({ scopes }: Party): boolean =>
  ['approve', 'audit.read', 'admin'].some((scope) => scopes.has(scope))

/**
 * Returns an approval as it is stored.
 * @throws `Problem` `not_found` when this viewer may not see it.
 */
export const visibleApproval = (viewer: Party, row: ApprovalRow | null): ApprovalRow => {
  if (!row || !(seesAll(viewer) || row.requesterId === viewer.clientId)) {
    throw new Problem('not_found')
  }
  return row
}

/** One approval. @throws `Problem` `not_found`. */
export const findShownApproval = async (
  approvals: Pick<ApprovalContext, 'database' | 'hsm'>,
  viewer: Party,
  approvalId: string,
): Promise<ShownApproval> => {
  const row = visibleApproval(viewer, await findApproval(approvals.database, approvalId))
  return showApproval(approvals, approvals.database, viewer, row)
}

/** An approval, and where it stands in the list. */
type ListedApproval = Approval & { readonly position: ApprovalPosition }

/** Lists approvals, newest first. A viewer who may not see all of them gets their own. */
export async function listApprovals(
  { database }: Pick<ApprovalContext, 'database'>,
  viewer: Party,
  filter: ApprovalFilter,
  page: { readonly after: ApprovalPosition | null; readonly limit: number },
): Promise<readonly ListedApproval[]> {
  const isOwn = filter.requesterId === null || filter.requesterId === viewer.clientId
  if (!isOwn && !seesAll(viewer)) return []
  const requesterId = seesAll(viewer) ? filter.requesterId : viewer.clientId
  const { state } = filter
  const rows = await listApprovalRows(database, { state, requesterId }, page.after, page.limit)
  return rows.map((row) => ({ ...describeApproval(row), position: row }))
}

/** Counts the requesters' approvals of their own requests within the last 30 days. */
export const countBrokenGlassUses = ({
  database,
}: Pick<ApprovalContext, 'database'>): Promise<number> => countBrokenGlass(database)

/** A step of an approval. */
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
 * Puts a step on record, in its transaction: what was asked for by its hash, and the person by
 * issuer and subject.
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
