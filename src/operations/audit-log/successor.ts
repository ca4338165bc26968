import { randomBytes, randomUUID } from 'node:crypto'
import type { Requester } from '../../domain/client.ts'
import { Problem } from '../../domain/problem.ts'
import { findNewestCheckpoint } from '../../storage/audit-log/checkpoints.ts'
import { listAuditEntries, type NewEntry } from '../../storage/audit-log/entries.ts'
import {
  type AuditLogRow,
  beginAuditLog,
  closeAuditLog,
  listAuditLogs,
  lockAuditLog,
} from '../../storage/audit-log/log.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { type AuditLogContext, appendEntries } from './audit-log.ts'
import { commitEntries } from './commit-entries.ts'
import { examineLog, findSignedCheckpoint } from './continuation.ts'

/** A log that replaced another one. */
interface Succession {
  readonly log: number
  readonly origin: string
  /** The newest known checkpoint of the previous log; null if it had none. */
  readonly predecessorCheckpoint: string | null
}

/**
 * Begins the successor of a log that must not be signed. Its first entry is the newest known
 * checkpoint of the previous log, with the reason; then follow the entries that no checkpoint in
 * the database covers.
 * @throws `Problem` `audit_log_continues` if the log can be signed.
 */
export async function succeedAuditLog(
  audit: AuditLogContext,
  operator: Requester,
  reason: string,
  request: RepeatableRequest | null,
): Promise<Answer<Succession>> {
  const refusal = (await examineLog(audit))?.refusal ?? null
  const remembered = await audit.outside.read()
  return once(audit, request, async (connection) => {
    const log = await lockAuditLog(connection)
    if (!log || (refusal === null && log.refusal === null)) {
      throw new Problem('audit_log_continues')
    }
    const newest = await findNewestCheckpoint(connection, log.log)
    const predecessor = newestKnown(
      await listAuditLogs(connection),
      remembered,
      newest?.note ?? null,
    )
    const successor = {
      log: log.log + 1,
      // A random suffix, because a database that is restored twice has two successors of one
      // number.
      origin: `${audit.origin}/${log.log + 1}-${randomBytes(4).toString('hex')}`,
    }
    await closeAuditLog(connection, log.log)
    const predecessorCheckpoint = predecessor
    await beginAuditLog(connection, { ...successor, predecessorCheckpoint, reason })
    const first = firstEntry(operator, reason, { ...successor, predecessorCheckpoint })
    let size = await appendEntries(connection, { ...successor, size: 0 }, first)
    for (let at = newest?.size ?? 0; at < log.size; at += pageSize) {
      const unsigned = await listAuditEntries(connection, log.log, at, pageSize)
      size = await appendEntries(connection, { ...successor, size }, unsigned)
    }
    return { ...successor, predecessorCheckpoint }
  })
}

const pageSize = 1_000

/**
 * Returns the newest of the remembered checkpoint and the one in the database: that of a log that
 * the database does not know, otherwise that of the larger tree.
 */
function newestKnown(
  logs: readonly AuditLogRow[],
  remembered: string | null,
  stored: string | null,
): string | null {
  const checkpoint = remembered === null ? null : findSignedCheckpoint(remembered)
  const of = logs.findIndex(({ origin }) => origin === checkpoint?.origin)
  if (!checkpoint || of > 0) return stored
  const isLarger = checkpoint.size > ((stored && findSignedCheckpoint(stored)?.size) || 0)
  return of < 0 || isLarger ? remembered : stored
}

function firstEntry(
  { clientId, requestId }: Requester,
  reason: string,
  details: Succession,
): readonly NewEntry[] {
  return commitEntries([
    {
      entry: randomUUID(),
      at: new Date().toISOString().replace('Z', '000Z'),
      act: 'log.succeeded',
      client: clientId,
      request: requestId,
      subject: details.origin,
      outcome: 'done',
      reason,
      details,
    },
  ])
}
