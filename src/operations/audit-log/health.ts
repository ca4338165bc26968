import { findNewestCheckpoint } from '../../storage/audit-log/checkpoints.ts'
import { findEntryAgeMs } from '../../storage/audit-log/entries.ts'
import { findAuditLog } from '../../storage/audit-log/log.ts'
import { findWaitingMs } from '../../storage/audit-log/waiting.ts'
import type { Database } from '../../storage/engine/database.ts'
import { isLeaseHeld } from '../../storage/engine/leases.ts'
import type { AuditLogContext } from './audit-log.ts'
import { isCosigned } from './witnesses.ts'

/** The health of the current log. */
export interface AuditLogHealth {
  readonly origin: string
  /** The number of entries, and of those that a checkpoint covers. */
  readonly size: number
  readonly signedSize: number
  /** How long the oldest unsigned entry has waited; 0 if all are signed. */
  readonly unsignedMs: number
  /** Why the log is not signed, or must not be by this process's record; null without a reason. */
  readonly refusal: string | null
  /**
   * Whether the required witnesses have cosigned the newest checkpoint; null if none are required,
   * or no checkpoint exists.
   */
  readonly isCosigned: boolean | null
}

/** Null before a log has begun. */
export async function findAuditLogHealth({
  database,
  found,
  witnesses,
}: Pick<AuditLogContext, 'database' | 'found' | 'witnesses'>): Promise<AuditLogHealth | null> {
  const row = await findAuditLog(database)
  if (!row) return null
  const { log, origin, size } = row
  const refusal = row.refusal ?? found.refusal
  const newest = await findNewestCheckpoint(database, log)
  const signedSize = newest?.size ?? 0
  const unsignedMs = size > signedSize ? await findEntryAgeMs(database, log, signedSize) : 0
  const asked = newest && witnesses
  return {
    origin,
    size,
    signedSize,
    unsignedMs,
    refusal,
    isCosigned: asked ? await isCosigned(asked, newest.note) : null,
  }
}

/** The lease of the process that enters acts. */
export const auditLeaseName = 'keep-audit-log'

/** The acts that are not yet in the audit log. */
export interface EnteringHealth {
  readonly status: 'pass' | 'warn' | 'fail'
  /** How long the oldest of them has waited; 0 if none waits. */
  readonly waitingMs: number
  /** Whether a process is entering acts. */
  readonly isEntering: boolean
}

/**
 * A try without a result is entered after 35 s, and a refusal after its minute: twice as long is
 * late.
 */
const lateMs = 120_000
/** No act was entered for this long: present acts are recorded only in the database. */
const failedMs = 600_000

/** A cluster asks every shard, so an answer is cached for this long. */
const goodOnClusterMs = 2_000

interface KeptEntering {
  readonly health: Promise<EnteringHealth>
  untilMs: number
}
const keptEntering = new WeakMap<Database, KeptEntering>()

/**
 * Reads the progress of entering. Concurrent callers share one read; a failed read is not cached.
 */
export function describeEnteringHealth(database: Database): Promise<EnteringHealth> {
  const known = keptEntering.get(database)
  if (known && performance.now() < known.untilMs) return known.health
  const kept = { health: readEntering(database), untilMs: Number.POSITIVE_INFINITY }
  keptEntering.set(database, kept)
  const end = (goodForMs: number) => {
    kept.untilMs = performance.now() + goodForMs
  }
  kept.health.then(
    () => end(database.isCluster() ? goodOnClusterMs : 0),
    () => end(0),
  )
  return kept.health
}

async function readEntering(database: Database): Promise<EnteringHealth> {
  const waitingMs = await findWaitingMs(database)
  const status = waitingMs > failedMs ? 'fail' : waitingMs > lateMs ? 'warn' : 'pass'
  return { status, waitingMs, isEntering: await isLeaseHeld(database, auditLeaseName) }
}
