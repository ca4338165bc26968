import { findNewestCheckpoint } from '../../storage/audit/checkpoints.ts'
import { findEntryAgeMs } from '../../storage/audit/entries.ts'
import { findAuditLog } from '../../storage/audit/log.ts'
import type { AuditLogOperations } from './audit-log.ts'
import { isCosigned } from './witnesses.ts'

/** How the log in use is. */
export interface AuditLogHealth {
  readonly origin: string
  /** Entries, and of them those under a checkpoint. */
  readonly size: number
  readonly signedSize: number
  /** For how long the oldest of the others has waited for one; 0: there is none. */
  readonly unsignedMs: number
  /** Why none is signed, or should be by what this process remembers; null where nothing is known against it. */
  readonly refusal: string | null
  /** Whether the witnesses that are asked for have cosigned the newest; null where none are, or none is signed. */
  readonly isCosigned: boolean | null
}

/** Null before a log has begun. */
export async function readAuditLogHealth({
  database,
  found,
  witnesses,
}: Pick<AuditLogOperations, 'database' | 'found' | 'witnesses'>): Promise<AuditLogHealth | null> {
  const row = await findAuditLog(database)
  if (!row) return null
  const { log, origin, size } = row
  const refusal = row.refusal ?? found.refusal
  const newest = await findNewestCheckpoint(database, log)
  const signedSize = newest?.size ?? 0
  const unsignedMs = size > signedSize ? await findEntryAgeMs(database, log, signedSize) : 0
  const asked = newest && witnesses
  return {
    ...{ origin, size, signedSize, unsignedMs, refusal },
    isCosigned: asked ? isCosigned(asked, newest.note) : null,
  }
}
