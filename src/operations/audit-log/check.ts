import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { computeCommitment } from '../../../packages/audit/tree.ts'
import { insertAct } from '../../storage/acts/acts.ts'
import * as cardDigests from '../../storage/audit-log/card-digests.ts'
import * as checks from '../../storage/audit-log/checks.ts'
import { digestedCardColumns, digestedTables } from '../../storage/audit-log/digested-columns.ts'
import { findAuditEntry, type NewEntry } from '../../storage/audit-log/entries.ts'
import { listAuditLogs } from '../../storage/audit-log/log.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { type CheckSigner, lockState, parseResultEntry, writeSigned } from './check-state.ts'
import { followEntries } from './follow.ts'
import { type AuditFinding, recordFinding } from './record-finding.ts'

/** The timing of a check. */
interface CheckTerms {
  /** Seconds from the start of one check to the start of the next. */
  readonly everySeconds: number
  /** Milliseconds between two steps. */
  readonly restMs: number
  /** Seconds after a check within which an act that had no entry must be entered. */
  readonly settleSeconds: number
}

/** Once a day; at most 500 cards in a twentieth of a second. */
export const nightly: CheckTerms = { everySeconds: 86_400, restMs: 50, settleSeconds: 300 }

/** The maximum time from an act's timestamp to its commit. */
const orderMs = 60_000
const cardsAtOnce = 500
const keptAtOnce = 5_000
const rowsAtOnce = 1_000
/**
 * The maximum number of findings of one check that are entered separately. Only the number of
 * further ones is entered.
 */
const findingsMost = 1_000

/**
 * Compares cards, clients, products, keys and links with their entries, if a check is due: each
 * column whose every change has an entry (`digested-columns.ts`), by a stored digest. A change
 * without an entry is entered as a finding. Any process can resume an interrupted check.
 * @param stop ends it between two steps.
 */
export async function checkDue(
  audit: CheckSigner,
  terms: CheckTerms = nightly,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const { database } = audit
  const check = await database.transaction((connection) => beginDue(connection, audit, terms))
  if (!check) return
  const isRunning = isUnfinished(check)
  const awaited = isRunning ? [] : await cardDigests.listAwaitedCards(database, 1)
  if (!isRunning && awaited.length === 0) return
  const isLookedAtAgain = !isRunning && (await isSettled(database, check, terms))
  if (isRunning || isLookedAtAgain) await followEntries(audit, stop)
  if (isLookedAtAgain) await database.transaction(checkAwaited)
  let isMore = isRunning
  while (isMore && !stop.aborted) {
    isMore = await database.transaction(async (connection) => {
      const locked = await lockState(connection, audit)
      return locked !== null && isUnfinished(locked) && checkNext(connection, audit, locked)
    })
    await wait(terms.restMs, undefined, { signal: stop }).catch(() => undefined)
  }
}

const isUnfinished = ({ finishedAt, startedAt }: checks.CheckRow): boolean =>
  startedAt !== null && finishedAt === null

/**
 * Returns the state of the check, and begins a new check if the last one is old enough; null if
 * another process runs the check.
 */
async function beginDue(
  connection: Connection,
  signer: CheckSigner,
  { everySeconds }: CheckTerms,
): Promise<checks.CheckRow | null> {
  const state = await lockState(connection, signer)
  if (!state || isUnfinished(state)) return state
  const { finishedAt, now, startedAt } = state
  const sinceMs = startedAt === null ? Infinity : now.getTime() - startedAt.getTime()
  if (finishedAt !== null && sinceMs <= everySeconds * 1_000) return state
  const begun = {
    ...state,
    startedAt: now,
    finishedAt: null,
    afterToken: '',
    cards: 0,
    findings: 0,
    keptFold: Buffer.alloc(0),
    newFold: Buffer.alloc(0),
  }
  await writeSigned(connection, signer, begun)
  return begun
}

/** Whether everything that a check could have read is entered. */
async function isSettled(
  connection: Connection,
  check: checks.CheckRow | null,
  { settleSeconds }: CheckTerms,
): Promise<boolean> {
  if (!check?.finishedAt) return false
  if (Date.now() - check.finishedAt.getTime() < settleSeconds * 1_000) return false
  // Events are published in the order of their times, except those of acts that took long to
  // commit.
  const until = new Date(check.finishedAt.getTime() + orderMs)
  return !(await checks.isEnteringBehind(connection, until))
}

/** Counts the findings of a check, and enters the first of them. */
function createRecorder(connection: Connection, before: number) {
  let count = before
  return {
    count: () => count,
    async record(finding: AuditFinding): Promise<void> {
      count += 1
      if (count <= findingsMost) await recordFinding(connection, finding)
    },
  }
}

/**
 * Checks the acts that had no entry at the last check: they are entered now, or they never will be.
 */
async function checkAwaited(connection: Connection): Promise<void> {
  if (!(await checks.lockCheck(connection))) return
  const rows = await cardDigests.listAwaitedCards(connection, keptAtOnce)
  const { record } = createRecorder(connection, 0)
  for (const { awaitedSequence, enteredSequence: entered, publicToken: card } of rows) {
    if (awaitedSequence === null || entered >= awaitedSequence) continue
    const details = { card, entered, has: awaitedSequence }
    await record({ found: 'card ahead of its entries', details })
  }
  // The present digest replaces the old one, so that each difference is found once.
  const settled = rows.map((row) => ({
    ...row,
    enteredSequence: Math.max(row.enteredSequence, row.awaitedSequence ?? 0),
    awaitedSequence: null,
  }))
  await cardDigests.writeCardDigests(connection, settled)
}

/** @returns whether more cards remain to be checked. */
async function checkNext(
  connection: Connection,
  signer: CheckSigner,
  check: checks.LockedCheck,
): Promise<boolean> {
  const found = await cardDigests.listDigestedCards(connection, check.afterToken, cardsAtOnce)
  const upTo = found.length < cardsAtOnce ? null : (found.at(-1)?.publicToken ?? null)
  const kept = await cardDigests.listCardDigests(connection, check.afterToken, upTo, keptAtOnce)
  const end = kept.length < keptAtOnce ? upTo : (kept.at(-1)?.publicToken ?? null)
  const cards = end === null ? found : found.filter(({ publicToken }) => publicToken <= end)
  const findings = createRecorder(connection, check.findings)
  const keptByToken = new Map(kept.map((row) => [row.publicToken, row]))
  const acts = await checks.listActSubjects(connection, check.actsNumber)
  const hasKeyActs =
    acts.some(({ subjectKind }) => subjectKind === 'key') ||
    (await checks.hasRecentReEncryption(connection))
  const written: cardDigests.CardDigestRow[] = []
  for (const card of cards) {
    const row = keptByToken.get(card.publicToken) ?? null
    const judged = judge(card, row, { hasBaseline: check.hasBaseline, hasKeyActs })
    for (const finding of judged.findings) await findings.record(finding)
    written.push(judged.row)
  }
  const there = new Set(cards.map(({ publicToken }) => publicToken))
  const gone = kept.filter(({ publicToken }) => !there.has(publicToken))
  for (const { enteredSequence: entered, publicToken: card } of gone) {
    await findings.record({ found: 'card gone', details: { card, entered } })
  }
  await cardDigests.writeCardDigests(connection, written)
  await cardDigests.removeCardDigests(
    connection,
    gone.map(({ publicToken }) => publicToken),
  )
  const advanced = {
    ...check,
    afterToken: end ?? check.afterToken,
    cards: check.cards + cards.length,
    findings: findings.count(),
    keptFold: fold(check.keptFold, kept),
    newFold: fold(check.newFold, written),
  }
  if (end === null) await finish(connection, signer, advanced)
  else await writeSigned(connection, signer, advanced)
  return end !== null
}

/** Folds digests into one, in the order of their cards. */
const fold = (before: Uint8Array, rows: readonly cardDigests.CardDigestRow[]): Uint8Array =>
  rows
    .filter(({ digests }) => digests.length > 0)
    .reduce<Uint8Array>((folded, { digestedSequence, digests, publicToken }) => {
      const hash = createHash('sha256')
        .update(folded)
        .update(`${publicToken} ${digestedSequence}\n`)
      for (const digest of digests) hash.update(digest)
      return hash.digest()
    }, before)

interface Circumstances {
  readonly hasBaseline: boolean
  /** Whether acts on keys occurred since the last check, or cards were moved to another key. */
  readonly hasKeyActs: boolean
}

/** Compares a card with its entries. */
function judge(
  card: cardDigests.DigestedCard,
  kept: cardDigests.CardDigestRow | null,
  { hasBaseline, hasKeyActs }: Circumstances,
): { readonly row: cardDigests.CardDigestRow; readonly findings: readonly AuditFinding[] } {
  const { digests, lastSequence, publicToken } = card
  const unknown = {
    publicToken,
    enteredSequence: hasBaseline ? 0 : lastSequence,
    changedAt: digests.map(() => 0),
    digests: [],
    digestedSequence: 0,
    awaitedSequence: null,
  }
  const row = kept ?? unknown
  const { enteredSequence: entered } = row
  // The creation of a card is an event: a card without one was inserted by hand, or just now.
  const due = Math.max(1, lastSequence)
  if (entered < due) return { row: { ...row, awaitedSequence: due }, findings: [] }
  const isBehind = entered > lastSequence
  const changed = digests.map((digest, group) => {
    const before = row.digests[group]
    return before !== undefined && Buffer.compare(before, digest) !== 0
  })
  const isChanged = (name: string) =>
    digestedCardColumns.some(({ group }, at) => group === name && changed[at] === true)
  const unexplained = digestedCardColumns.filter(({ alsoWith, group, orByKeyAct }, at) => {
    if (!isChanged(group) || (row.changedAt[at] ?? 0) > row.digestedSequence) return false
    return !((alsoWith && isChanged(alsoWith)) || (orByKeyAct && hasKeyActs))
  })
  const groups = unexplained.map(({ group }) => group)
  const behind = { card: publicToken, entered, has: lastSequence }
  return {
    row: {
      ...row,
      enteredSequence: lastSequence,
      awaitedSequence: null,
      digests,
      digestedSequence: lastSequence,
    },
    findings: [
      ...(isBehind ? [{ found: 'card behind its entries', details: behind } as const] : []),
      ...(groups.length > 0
        ? [{ found: 'card changed', details: { card: publicToken, columns: groups } } as const]
        : []),
    ],
  }
}

/** Checks the other tables, and records the result. */
async function finish(
  connection: Connection,
  signer: CheckSigner,
  check: checks.LockedCheck,
): Promise<void> {
  const findings = createRecorder(connection, check.findings)
  for (const of of await listChangedDigests(connection, check)) {
    const details = { since: check.digestedAct, of }
    await findings.record({ found: 'digests changed', details })
  }
  for (const { after, number } of await checks.listNumberGaps(connection, 100)) {
    await findings.record({ found: 'number missing', details: { after, before: number } })
  }
  // Read before the rows, so that the next check covers concurrent changes, too.
  const actsNumber = await checks.findNewestActNumber(connection)
  for (const finding of await checkRows(connection, check)) await findings.record(finding)
  const cardsDigest = Buffer.from(check.newFold).toString('hex')
  const rowsFold = await checks.foldRowDigests(connection)
  const rowsDigest = Buffer.from(rowsFold).toString('hex')
  const followed = [check.followedLog, check.followedIndex]
  const said = { cards: check.cards, findings: findings.count(), cardsDigest }
  const digestedAct = await insertAct(connection, {
    act: 'check.digested',
    subjectKind: 'log',
    subject: 'cards',
    details: JSON.stringify({ ...said, rowsDigest, actsNumber, followed }),
    clientId: null,
    requestId: null,
  })
  const ended = { hasBaseline: true, finishedAt: check.now, findings: findings.count() }
  const kept = { digestedAct, digestedFold: check.newFold, rowsFold, actsNumber }
  await writeSigned(connection, signer, { ...check, ...ended, ...kept })
}

/**
 * Lists the folds that differ from those in the entry of the last check, or the entry itself if it
 * was changed.
 */
async function listChangedDigests(
  connection: Connection,
  { digestedAct, digestedFold, keptFold, rowsFold }: checks.CheckRow,
): Promise<readonly ('cards' | 'rows' | 'entry')[]> {
  if (digestedAct === null) return []
  const logs = (await listAuditLogs(connection)).map(({ log }) => log)
  const entry = await findAuditEntry(connection, logs, digestedAct)
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  const entered = parseResultEntry(entry?.text ?? null)
  const said = entered ?? { cardsDigest: hex(digestedFold), rowsDigest: hex(rowsFold) }
  const rows = hex(await checks.foldRowDigests(connection))
  return [
    ...(entry && !isCommitted(entry) ? (['entry'] as const) : []),
    ...(said.cardsDigest === hex(keptFold) ? [] : (['cards'] as const)),
    // An earlier version stored no digest of rows.
    ...(said.rowsDigest && said.rowsDigest !== rows ? (['rows'] as const) : []),
  ]
}

/** Whether an entry matches the commitment of its leaf, or is erased. */
const isCommitted = ({ commitment, salt, text }: NewEntry): boolean =>
  salt === null || text === null || Buffer.compare(computeCommitment(salt, text), commitment) === 0

/** Compares every row of the other tables with the acts since the last check. */
async function checkRows(
  connection: Connection,
  { actsNumber, hasBaseline }: checks.CheckRow,
): Promise<AuditFinding[]> {
  const findings: AuditFinding[] = []
  for (const { subjectKind, table } of digestedTables) {
    let after: string | null = ''
    while (after !== null) {
      const { last, rows } = await checks.listDigestedRows(connection, table, after, rowsAtOnce)
      const acts = await checks.listActSubjects(connection, actsNumber)
      const named = new Set(
        acts.filter((act) => act.subjectKind === subjectKind).map(({ subject }) => subject),
      )
      const differing = rows.filter(
        ({ digest, kept }) => !digest || !kept || Buffer.compare(digest, kept) !== 0,
      )
      // The rows that an act names. A deleted row is known by its key, which begins with the name.
      const unnamed = differing.filter(({ rowKey, subject }) =>
        subject === null
          ? !named.has(rowKey) && !named.has(rowKey.replace(/ .*/, ''))
          : !named.has(subject),
      )
      if (hasBaseline) findings.push(...unnamed.map((row) => rowFinding(table, row)))
      await checks.writeRowDigests(connection, table, differing)
      after = last
    }
  }
  return findings
}

function rowFinding(table: string, { digest, kept, rowKey }: checks.DigestedRow): AuditFinding {
  const details = { table, row: rowKey }
  if (kept === null) return { found: 'row new', details }
  return { found: digest === null ? 'row gone' : 'row changed', details }
}
