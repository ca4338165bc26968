import { join, resolve } from 'node:path'
import type { VariableReader } from './variables.ts'

/** How the audit log is named, signed, remembered and kept. */
export interface AuditConfig {
  /**
   * What checkpoints of the first log name it by: a URL without its scheme
   * (c2sp.org/tlog-checkpoint).
   */
  readonly origin: string
  /** The file that remembers the newest checkpoint outside the database. */
  readonly checkpointFile: string
  /** A policy that names witnesses (c2sp.org/tlog-policy). Null: checkpoints are not cosigned. */
  readonly witnessPolicyFile: string | null
  /** How long an answer of a witness is waited for. */
  readonly witnessTimeoutMs: number
  /** Whether checkpoints are signed with ML-DSA-44, too. */
  readonly mlDsa: boolean
  /** Days after which what an entry says is erased. */
  readonly retentionDays: number
  /** Days for which it stays, whoever asks for it to be erased. */
  readonly erasureLeastDays: number
}

/** PCI DSS 10.5.1 asks for records of twelve months. */
export const auditRetentionLeastDays = 400

/**
 * Long enough for an export, or for another who looks, before what was done is erased; short enough
 * for a month's time limit.
 */
export const erasureLeastDays = 7

/** Reads the variables of the audit log; what is wrong with them goes to the reader's faults. */
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
    // Receipts are to be there after two seconds.
    witnessTimeoutMs: read.integer('AUDIT_WITNESS_TIMEOUT_MS', 1_000, 100, 60_000),
    mlDsa: read.parseChoice('AUDIT_LOG_ML_DSA', ['yes', 'no'], 'no') === 'yes',
    retentionDays: read.integer('AUDIT_RETENTION_DAYS', auditRetentionLeastDays, 1, 36_500),
    erasureLeastDays: read.integer('AUDIT_ERASURE_LEAST_DAYS', erasureLeastDays, 0, 28),
  }
}
