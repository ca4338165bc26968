import { join, resolve } from 'node:path'
import type { VariableReader } from './variables.ts'

/** The settings of the audit log. */
export interface AuditConfig {
  /**
   * The origin of the first log's checkpoints: a URL without its scheme (c2sp.org/tlog-checkpoint).
   */
  readonly origin: string
  /** The file that stores the newest checkpoint outside the database. */
  readonly checkpointFile: string
  /**
   * A policy that names witnesses (c2sp.org/tlog-policy); null for checkpoints without
   * cosignatures.
   */
  readonly witnessPolicyFile: string | null
  /** The time limit of a witness's answer. */
  readonly witnessTimeoutMs: number
  /** Whether checkpoints also have an ML-DSA-44 signature. */
  readonly mlDsa: boolean
  /** The days after which the content of an entry is erased. */
  readonly retentionDays: number
  /** The days for which content cannot be erased on request. */
  readonly erasureLeastDays: number
}

/** PCI DSS 10.5.1 asks for records of twelve months. */
export const auditRetentionLeastDays = 400

/**
 * Long enough for an export or an inspection before the content is erased; short enough for a
 * deadline of one month.
 */
export const erasureLeastDays = 7

/** Reads the variables of the audit log and adds errors to the reader's faults. */
export function readAudit(
  read: VariableReader,
  { baseUrl, dataDir }: { readonly baseUrl: string; readonly dataDir: string },
): AuditConfig {
  const checkpointFile = read.text('AUDIT_CHECKPOINT_FILE')
  const ownOrigin = `${new URL(baseUrl).host}/audit`
  const origin = read.text('AUDIT_LOG_ORIGIN') ?? ownOrigin
  const isOrigin = /^[^\s+\p{Cc}]{1,100}$/u.test(origin)
  if (!isOrigin) {
    read.faults.push('AUDIT_LOG_ORIGIN must be one word without +, such as issuer.example/audit.')
  }
  return {
    origin: isOrigin ? origin : ownOrigin,
    checkpointFile: checkpointFile ? resolve(checkpointFile) : join(dataDir, 'audit-checkpoint'),
    witnessPolicyFile: read.text('AUDIT_WITNESS_POLICY'),
    // Receipts must be available after two seconds.
    witnessTimeoutMs: read.integer('AUDIT_WITNESS_TIMEOUT_MS', 1_000, 100, 60_000),
    mlDsa: read.parseChoice('AUDIT_LOG_ML_DSA', ['yes', 'no'], 'no') === 'yes',
    retentionDays: read.integer('AUDIT_RETENTION_DAYS', auditRetentionLeastDays, 1, 36_500),
    erasureLeastDays: read.integer('AUDIT_ERASURE_LEAST_DAYS', erasureLeastDays, 0, 28),
  }
}
