import { findNewestCheckpoint } from '../../storage/audit-log/checkpoints.ts'
import { findEntryAgeMs } from '../../storage/audit-log/entries.ts'
import { findAuditLog } from '../../storage/audit-log/log.ts'
import { findWaitingMs } from '../../storage/audit-log/waiting.ts'
import type { Database } from '../../storage/engine/database.ts'
import { isLeaseHeld } from '../../storage/engine/leases.ts'
import type { AuditLogContext } from './audit-log.ts'
import { isCosigned } from './witnesses.ts'

/** How the log in use is. */
export interface AuditLogHealth {
  readonly origin: string
  /** Entries, and of them those under a checkpoint. */
  readonly size: number
  readonly signedSize: number
  /** For how long the oldest of the others has waited for one; 0: there is none. */
  readonly unsignedMs: number
  /**
   * Why none is signed, or should be by what this process remembers; null where nothing is known
   * against it.
   */
  readonly refusal: string | null
  /**
   * Whether the witnesses that are asked for have cosigned the newest; null where none are, or none
   * is signed.
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

/** Acts that are not entered in the audit log yet. */
export interface EnteringHealth {
  readonly status: 'pass' | 'warn' | 'fail'
  /** For how long the oldest of them has waited; 0: there is none. */
  readonly waitingMs: number
  /** Whether a process is at it. */
  readonly isEntering: boolean
}

/**
 * A try without a result is entered after 35 s, and a refusal after its minute: twice as much is
 * late.
 */
const lateMs = 120_000
/** So long no act was entered: what is done meanwhile is on record nowhere but in the database. */
const failedMs = 600_000

/** On a cluster every shard is asked: an answer is good for so long. */
const goodOnClusterMs = 2_000

interface KeptEntering {
  readonly health: Promise<EnteringHealth>
  untilMs: number
}
const keptEntering = new WeakMap<Database, KeptEntering>()

/**
 * Reads how acts are entered. Callers at one time share one read; a read that fails is not kept.
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
