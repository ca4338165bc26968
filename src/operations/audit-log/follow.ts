import * as digests from '../../storage/audit-log/card-digests.ts'
import type { CheckRow } from '../../storage/audit-log/checks.ts'
import { digestedCardColumns } from '../../storage/audit-log/digested-columns.ts'
import { listAuditLogs } from '../../storage/audit-log/log.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { type CheckSigner, lockState, writeSigned } from './check-state.ts'
import { checkErasures } from './erasure-check.ts'
import { recordFinding } from './record-finding.ts'

/** The number of entries that one transaction follows. */
const followedAtOnce = 5_000

/**
 * Records for each card which of its events are entered, and finds missing ones.
 * @param stop ends it between two steps.
 */
export async function followEntries(signer: CheckSigner, stop: AbortSignal): Promise<void> {
  const { database } = signer
  let isMore = true
  while (isMore && !stop.aborted) {
    isMore = await database.transaction(async (connection) => {
      const check = await lockState(connection, signer)
      return check !== null && followNext(connection, signer, check)
    })
  }
}

async function followNext(
  connection: Connection,
  signer: CheckSigner,
  check: CheckRow,
): Promise<boolean> {
  const logs = await listAuditLogs(connection)
  const log = logs.find((each) => each.log === check.followedLog)
  if (!log) return false
  const from = check.followedIndex
  const end = Math.min(log.size, from + followedAtOnce)
  if (from >= end) {
    if (log.closedAt === null) return false
    const next = { ...check, followedLog: log.log + 1, followedIndex: 0 }
    await writeSigned(connection, signer, next)
    return true
  }
  for (const finding of await checkErasures(connection, logs, log, [from, end])) {
    await recordFinding(connection, finding)
  }
  const entries = await digests.listCardEntries(connection, log.log, [from, end])
  const tokens = entries.map(({ publicToken }) => publicToken)
  const kept = new Map(
    (await digests.listCardDigestRows(connection, tokens)).map((row) => [row.publicToken, row]),
  )
  const rows: digests.CardDigestRow[] = []
  for (const each of entries) {
    const known = kept.get(each.publicToken) ?? null
    const missing = missingBefore(each, known, check.hasBaseline)
    for (const sequence of missing) {
      const details = { card: each.publicToken, before: sequence }
      await recordFinding(connection, { found: 'sequence missing', details })
    }
    rows.push(followed(each, known))
  }
  await digests.writeCardDigests(connection, rows)
  await writeSigned(connection, signer, { ...check, followedIndex: end })
  return true
}

/**
 * Lists the sequences of a card that follow a gap. Events that were entered before a successor log
 * began may occur again.
 */
function missingBefore(
  { sequences }: digests.CardEntries,
  known: digests.CardDigestRow | null,
  hasBaseline: boolean,
): number[] {
  // For a card that is older than the log, the first events have no entries.
  let last = known?.enteredSequence ?? (hasBaseline ? 0 : (sequences[0] ?? 1) - 1)
  return sequences.filter((sequence) => {
    const isMissing = sequence > last + 1
    last = Math.max(last, sequence)
    return isMissing
  })
}

function followed(
  { acts, publicToken, sequences }: digests.CardEntries,
  known: digests.CardDigestRow | null,
): digests.CardDigestRow {
  const changedAt = digestedCardColumns.map(({ changedBy }, group) =>
    acts.reduce(
      (last, act, at) =>
        changedBy.some((type) => type === act) ? Math.max(last, sequences[at] ?? 0) : last,
      known?.changedAt[group] ?? 0,
    ),
  )
  const enteredSequence = Math.max(known?.enteredSequence ?? 0, sequences.at(-1) ?? 0)
  const { awaitedSequence = null, digests = [], digestedSequence = 0 } = known ?? {}
  return { publicToken, enteredSequence, changedAt, digests, digestedSequence, awaitedSequence }
}
