import { verifierKeyText } from '../../../packages/audit/notes.ts'
import { entryBundle, tileWidth } from '../../../packages/audit/tiles.ts'
import { encodeEntry } from '../../../packages/audit/tree.ts'
import { findNewestCheckpoint } from '../../storage/audit-log/checkpoints.ts'
import { listAuditEntries } from '../../storage/audit-log/entries.ts'
import { type AuditLogRow, findTile, listAuditLogs } from '../../storage/audit-log/log.ts'
import type { AuditLogContext } from './audit-log.ts'
import { selectSignatureType } from './sign.ts'

/** A requested tile, or bundle of entries (c2sp.org/tlog-tiles). */
interface Wanted {
  readonly level: number | 'entries'
  readonly index: number
  /** The number of hashes or entries in a partial one; 256 in a full one. */
  readonly width: number
}

/** Finds a log by its number, or the current one. */
async function findLog(
  { database }: AuditLogContext,
  number: number | null,
): Promise<AuditLogRow | null> {
  const logs = await listAuditLogs(database)
  return (number === null ? logs[0] : logs.find(({ log }) => log === number)) ?? null
}

/** Returns the newest checkpoint of a log; null before its first. */
export async function findCheckpoint(
  audit: AuditLogContext,
  number: number | null,
): Promise<string | null> {
  const log = await findLog(audit, number)
  return log ? ((await findNewestCheckpoint(audit.database, log.log))?.note ?? null) : null
}

/** Returns the bytes of a tile or a bundle, or null unless a signed tree contains it. */
export async function findPublishedTile(
  audit: AuditLogContext,
  number: number | null,
  { index, level, width }: Wanted,
): Promise<Uint8Array | null> {
  const { database } = audit
  const log = await findLog(audit, number)
  if (!log) return null
  const signed = (await findNewestCheckpoint(database, log.log))?.size ?? 0
  const height = level === 'entries' ? 0 : level
  const hashes = Math.floor(signed / tileWidth ** height)
  // Unsigned entries may still change if the database is restored.
  if (index * tileWidth + width > hashes) return null
  if (level === 'entries') {
    const entries = await listAuditEntries(database, log.log, index * tileWidth, width)
    return entryBundle(entries.map(({ commitment }) => encodeEntry(commitment)))
  }
  const tile = await findTile(database, log.log, { level, index })
  return tile ? tile.subarray(0, width * 32) : null
}

/**
 * Returns the texts of 256 entries, a line of JSON each: salt and text, or that they were erased.
 * Returns null unless they are signed.
 */
export async function findOpenings(
  audit: AuditLogContext,
  number: number | null,
  index: number,
): Promise<string | null> {
  const { database } = audit
  const log = await findLog(audit, number)
  const signed = log ? ((await findNewestCheckpoint(database, log.log))?.size ?? 0) : 0
  const count = Math.min(tileWidth, signed - index * tileWidth)
  if (!log || count <= 0) return null
  const entries = await listAuditEntries(database, log.log, index * tileWidth, count)
  const lines = entries.map(({ index, salt, text }) =>
    salt && text !== null
      ? { index, salt: Buffer.from(salt).toString('base64'), text }
      : { index, erased: true },
  )
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/**
 * Lists the keys that verify checkpoints of every log, the current log first: one verifier key per
 * line (c2sp.org/signed-note).
 */
export async function composeVerifierKeys({ database, hsm }: AuditLogContext): Promise<string> {
  const logs = await listAuditLogs(database)
  const keys = await hsm.auditKeys()
  const lines = logs.flatMap(({ origin }) =>
    keys.map((key) => `${verifierKeyText(origin, selectSignatureType(key), key.publicKey)}\n`),
  )
  return lines.join('')
}

/** A log as operators see it. */
interface LogStatus {
  readonly log: number
  readonly origin: string
  readonly beganAt: string
  readonly closedAt: string | null
  readonly reason: string | null
  /** The number of entries, and of those that the newest checkpoint covers. */
  readonly size: number
  readonly signedSize: number
  readonly signedAt: string | null
  /** Why the log is not signed, or null. */
  readonly refusal: string | null
}

/** Lists every log, the current one first. */
export async function listLogs({
  database,
}: Pick<AuditLogContext, 'database'>): Promise<LogStatus[]> {
  const logs = await listAuditLogs(database)
  return Promise.all(
    logs.map(async ({ beganAt, closedAt, log, origin, reason, refusal, size }) => {
      const newest = await findNewestCheckpoint(database, log)
      return {
        log,
        origin,
        beganAt: beganAt.toISOString(),
        closedAt: closedAt?.toISOString() ?? null,
        reason,
        size,
        signedSize: newest?.size ?? 0,
        signedAt: newest?.signedAt.toISOString() ?? null,
        refusal,
      }
    }),
  )
}
