import { listParties, type Requester } from '../../domain/client.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import { hasAct, insertAct } from '../../storage/acts/acts.ts'
import { findNewestCheckpoint } from '../../storage/audit-log/checkpoints.ts'
import { findCheck } from '../../storage/audit-log/checks.ts'
import { findAuditEntry } from '../../storage/audit-log/entries.ts'
import * as erasures from '../../storage/audit-log/erasures.ts'
import { type AuditLogRow, listAuditLogs } from '../../storage/audit-log/log.ts'
import { wasShownCard } from '../../storage/card-data/shown-cards.ts'
import { findClient } from '../../storage/clients/clients.ts'
import { listProvenance } from '../../storage/clients/provenance.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import type { AuditLogContext } from './audit-log.ts'
import type { CheckSigner } from './check-state.ts'
import { requestsErasure } from './erasure-check.ts'
import { listErasureParties } from './erasure-parties.ts'
import { followEntries } from './follow.ts'
import { recordFinding } from './record-finding.ts'

/** The entries to erase, and the reason. */
type WantedErasure = { readonly reason: string } & (
  | { readonly publicToken: PublicToken }
  | { readonly clientId: string }
)

/** An erasure as operators see it. */
interface Erasure {
  readonly erasure: string
  /** The number of erased entries so far. */
  readonly erased: number
  readonly requestedAt: string
  /** Null while it is running. */
  readonly finishedAt: string | null
}

/**
 * Requests the erasure of the entries of a card, or of a client's acts. A background job executes
 * it.
 * @throws `Problem` `erasure_refused` if this operator cannot have these entries erased.
 */
export const requestErasure = (
  audit: Pick<AuditLogContext, 'database' | 'hsm'>,
  operator: Requester,
  wanted: WantedErasure,
  request: RepeatableRequest | null,
): Promise<Answer<Erasure>> =>
  once(audit, request, async (connection) => {
    const { approvedBy = null, clientId, requestId } = operator
    await requireErasable(
      connection,
      await listErasureParties(connection, [clientId, approvedBy]),
      wanted,
    )
    const isCard = 'publicToken' in wanted
    const [kind, subject] = isCard
      ? (['card', wanted.publicToken] as const)
      : (['client', wanted.clientId] as const)
    const { reason } = wanted
    const asked = { kind, subject, reason, requestedBy: clientId, approvedBy }
    const erasure = await erasures.insertErasure(connection, asked)
    if (!erasure) throw new Error('An erasure of a card or a client is always a new one.')
    await recordRequest(connection, erasure, { clientId, requestId })
    return describe(erasure)
  })

/**
 * Rejects an erasure that would remove traces of an operator: by its id, or of the parties of the
 * request.
 */
async function requireErasable(
  connection: Connection,
  parties: readonly string[],
  wanted: WantedErasure,
): Promise<void> {
  if ('publicToken' in wanted) {
    if (!(await wasShownCard(connection, wanted.publicToken, parties))) return
    throw new Problem('erasure_refused', {
      detail:
        'The log has a disclosure of this card to you, your approver, or a client or person ' +
        'that one of you is connected with. Two other administrators have to request and ' +
        'approve the erasure.',
    })
  }
  const client = await findClient(connection, wanted.clientId)
  if (client?.kind !== 'client') {
    throw new Problem('erasure_refused', {
      detail:
        'The id does not belong to a client system. Only entries of client systems can be ' +
        'erased by id.',
    })
  }
  const provenance = await listProvenance(connection, [wanted.clientId])
  if (!listParties(wanted.clientId, provenance).some((id) => parties.includes(id))) return
  throw new Problem('erasure_refused', {
    detail:
      'You or your approver registered this client, or issued or approved its credentials. Two ' +
      'other administrators have to request and approve the erasure.',
  })
}

/** Records the request of an erasure. */
async function recordRequest(
  connection: Connection,
  { erasureId, kind, reason }: erasures.ErasureRow,
  by: { readonly clientId: string | null; readonly requestId: string | null },
): Promise<void> {
  // The act states the kind, not the subject. Otherwise the log would still name the erased person.
  const requestAct = await insertAct(connection, {
    act: 'erasure.requested',
    subjectKind: 'log',
    subject: erasureId,
    details: JSON.stringify({ of: kind, reason }),
    ...by,
  })
  await erasures.setRequestAct(connection, erasureId, requestAct)
}

/**
 * Returns one erasure.
 * @throws `Problem` `not_found`.
 */
export async function findShownErasure(
  { database }: Pick<AuditLogContext, 'database'>,
  erasureId: string,
): Promise<Erasure> {
  const erasure = await erasures.findErasure(database, erasureId)
  if (!erasure) throw new Problem('not_found')
  return describe(erasure)
}

const describe = ({
  erased,
  erasureId,
  finishedAt,
  requestedAt,
}: erasures.ErasureRow): Erasure => ({
  erasure: erasureId,
  erased,
  requestedAt: requestedAt.toISOString(),
  finishedAt: finishedAt?.toISOString() ?? null,
})

/**
 * Groups of acts whose entries are never erased. Without the entries of the log and of erasures,
 * erased entries could not be told from lost ones; the others record the granted rights and the
 * findings of checks.
 */
const keptGroups = ['approval', 'check', 'client', 'entries', 'erasure', 'key', 'log', 'setting']
/** The number of entries that a step reads, and of ranges that one act names. */
const lookedAt = 10_000
const rangesMost = 500
/** The number of entries that one statement erases. */
const erasedAtOnce = 1_000
/**
 * The delay after which all acts from before an erasure are entered: a try is unresolved for up to
 * a minute, and refusals are entered after their minute.
 */
const settleSeconds = 180
const daySeconds = 86_400

/** The retention of entries, and the delay after a request until which new entries are included. */
interface ErasureTerms {
  readonly retentionDays: number
  /** The minimum age of an entry before it is erased on request. */
  readonly leastDays: number
  readonly settleSeconds?: number
}

/**
 * Advances every erasure: an act in the log first names the entries; once a checkpoint covers that
 * act, they are erased. That act explains a missing text to everyone who holds a checkpoint.
 * @param stop ends it between two steps.
 */
export async function eraseDue(
  audit: CheckSigner,
  terms: ErasureTerms,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const { database } = audit
  const reason = `The entries are older than ${terms.retentionDays} days.`
  const ofAge = { kind: 'age', subject: null, reason, requestedBy: null, approvedBy: null } as const
  await erasures.insertErasure(database, ofAge)
  const unfinished = await erasures.listUnfinishedErasures(database, 100)
  // An erased entry can no longer be followed.
  if (unfinished.some(({ kind }) => kind !== 'age')) await followEntries(audit, stop)
  for (const erasure of unfinished) {
    let current: erasures.ErasureRow | null = erasure
    while (current && !stop.aborted && (await takeOn(database, current, terms))) {
      current = await erasures.findErasure(database, erasure.erasureId)
    }
  }
}

/** @returns whether more work may remain. */
async function takeOn(
  database: Database,
  erasure: erasures.ErasureRow,
  terms: ErasureTerms,
): Promise<boolean> {
  if (erasure.pendingAct !== null) {
    const logs = (await listAuditLogs(database)).map(({ log }) => log)
    const entry = await findAuditEntry(database, logs, erasure.pendingAct)
    const signed = entry && (await findNewestCheckpoint(database, entry.log))
    if (!signed || entry.index >= signed.size) return false
    await erasePending(database, erasure)
    return true
  }
  return database.transaction(async (connection) => {
    const locked = await erasures.lockErasure(connection, erasure.erasureId)
    if (locked === null || locked.pendingAct !== null) return false
    return (await requireRequest(connection, locked)) && goOn(connection, locked, terms)
  })
}

async function erasePending(connection: Connection, erasure: erasures.ErasureRow): Promise<void> {
  const { pendingFrom, pendingLog, pendingTo } = erasure
  let erased = 0
  for (const [at, first] of pendingFrom.entries()) {
    const last = pendingTo[at] ?? first
    for (let from = first; from <= last; from += erasedAtOnce) {
      const to = Math.min(last, from + erasedAtOnce - 1)
      erased += await erasures.eraseEntries(connection, pendingLog ?? 0, { from, to })
    }
  }
  await erasures.settleErasure(connection, erasure, erased)
}

/**
 * Continues the search for entries to erase from its last position, in its log or in the next one.
 */
async function goOn(
  connection: Connection,
  erasure: erasures.ErasureRow,
  terms: ErasureTerms,
): Promise<boolean> {
  const logs = await listAuditLogs(connection)
  const log = logs.find((each) => each.log === erasure.log)
  if (!log) return false
  const { nextIndex: from } = erasure
  const end = await findStepEnd(connection, erasure, log, terms)
  if (from < end) {
    const { approvedBy, requestedBy } = erasure
    const parties = await listErasureParties(connection, [requestedBy, approvedBy])
    const bounds = { keptGroups, parties, limit: rangesMost }
    const ranges = await erasures.listRangesToErase(connection, erasure, [from, end], bounds)
    const last = ranges.length < rangesMost ? undefined : ranges.at(-1)
    const { erasureId, kind, reason } = erasure
    const named = {
      erasure: erasureId,
      of: kind,
      requestedBy,
      reason,
      ranges: ranges.map(({ from, to }) => [from, to]),
    }
    // The erasure of old entries has no request: an act records its begin before the first act that
    // names entries.
    if (ranges.length > 0 && kind === 'age' && erasure.requestAct === null) {
      await recordRequest(connection, erasure, { clientId: null, requestId: null })
    }
    const act = { act: 'entries.erased', subjectKind: 'log', subject: log.origin } as const
    const by = { clientId: null, requestId: null }
    const pendingAct =
      ranges.length > 0
        ? await insertAct(connection, { ...act, ...by, details: JSON.stringify(named) })
        : null
    const next = { log: log.log, nextIndex: last ? last.to + 1 : end, pendingAct }
    await erasures.advanceErasure(connection, erasure, next, ranges)
    return pendingAct === null
  }
  if (log.closedAt !== null && from === log.size && log !== logs[0]) {
    const next = { log: log.log + 1, nextIndex: 0, pendingAct: null }
    await erasures.advanceErasure(connection, erasure, next, [])
    return true
  }
  if (erasure.kind !== 'age') {
    const seconds = (terms.settleSeconds ?? settleSeconds) + terms.leastDays * daySeconds
    await erasures.finishErasure(connection, erasure.erasureId, seconds)
  }
  return false
}

/**
 * Whether the log has the request of an erasure. The erasure of old entries needs none. An erasure
 * without a request was inserted into the database by hand: it ends, and a finding is entered as by
 * the nightly check.
 */
async function requireRequest(
  connection: Connection,
  erasure: erasures.ErasureRow,
): Promise<boolean> {
  const { erasureId, kind, requestAct } = erasure
  if (kind === 'age') return true
  const request = await findRequest(connection, erasure)
  if (request !== 'unfounded') return request === 'entered'
  await recordFinding(connection, {
    found: 'erasure unfounded',
    details: { erasure: erasureId, entry: requestAct },
  })
  await erasures.endErasure(connection, erasureId)
  return false
}

/**
 * Whether the log has the request of an erasure, or an act for it is not entered yet. Otherwise the
 * row was inserted by hand.
 */
async function findRequest(
  connection: Connection,
  erasure: erasures.ErasureRow,
): Promise<'entered' | 'waiting' | 'unfounded'> {
  const { requestAct } = erasure
  if (requestAct === null) return 'unfounded'
  // Read first, so that an act that is entered between the two reads is found as an entry.
  const isRecorded = await hasAct(connection, requestAct)
  const numbers = (await listAuditLogs(connection)).map(({ log }) => log)
  const entry = await findAuditEntry(connection, numbers, requestAct)
  if (entry) return requestsErasure(erasure, entry) ? 'entered' : 'unfounded'
  return isRecorded ? 'waiting' : 'unfounded'
}

/** Returns the index before which a step ends. */
async function findStepEnd(
  connection: Connection,
  { kind, nextIndex: from }: erasures.ErasureRow,
  { log, size }: AuditLogRow,
  { leastDays, retentionDays }: ErasureTerms,
): Promise<number> {
  const check = await findCheck(connection)
  const isFollowed = check !== null && check.followedLog > log
  const followed = check?.followedLog === log ? check.followedIndex : 0
  // Entries are followed before they are erased.
  const end = Math.min(size, from + lookedAt, isFollowed ? size : followed)
  const days = kind === 'age' ? retentionDays : leastDays
  if (days === 0 || from >= end) return end
  return (await erasures.findFirstYoung(connection, log, [from, end], days)) ?? end
}
