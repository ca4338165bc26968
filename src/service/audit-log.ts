import { readFile } from 'node:fs/promises'
import { Gauge, type Registry } from 'prom-client'
import { parseWitnessPolicy } from '../../packages/audit/witness-policy.ts'
import { Problem, StartRefusal } from '../domain/problem.ts'
import type { Hsm } from '../hsm/contract/hsm.ts'
import type { AuditLogContext } from '../operations/audit-log/audit-log.ts'
import { findCheckState } from '../operations/audit-log/findings.ts'
import {
  type AuditLogHealth,
  describeEnteringHealth,
  findAuditLogHealth,
} from '../operations/audit-log/health.ts'
import type { Witnesses } from '../operations/audit-log/witnesses.ts'
import { guardedRequests, textPoster } from '../outbound/guarded-request.ts'
import { machineNames } from '../outbound/resolve-host.ts'
import { checkpointFile } from '../storage/audit-log/checkpoint-file.ts'
import type { Database } from '../storage/engine/database.ts'
import type { Config } from './config/config.ts'

/**
 * Creates the context of the operations on the audit log.
 * @throws `StartRefusal` when a policy cannot be read, or ML-DSA-44 is set but not available.
 */
export async function createAuditLog(
  { audit, sandbox }: Pick<Config, 'audit' | 'sandbox'>,
  database: Database,
  hsm: Hsm,
): Promise<AuditLogContext> {
  if (audit.mlDsa) {
    await hsm.generateAuditMlDsaKey().catch((error: unknown) => {
      if (!(error instanceof Problem) || error.code !== 'key_refused') throw error
      throw new StartRefusal(`AUDIT_LOG_ML_DSA=yes is not possible: ${error.detail}`)
    })
  }
  return {
    database,
    hsm,
    origin: audit.origin,
    withMlDsa: audit.mlDsa,
    outside: checkpointFile(audit.checkpointFile),
    found: { refusal: null },
    witnesses:
      audit.witnessPolicyFile === null
        ? null
        : await openWitnesses(audit.witnessPolicyFile, audit.witnessTimeoutMs, sandbox),
  }
}

async function openWitnesses(
  file: string,
  timeoutMs: number,
  sandbox: boolean,
): Promise<Witnesses> {
  try {
    return {
      policy: parseWitnessPolicy(await readFile(file, 'utf8')),
      // Their addresses are the operator's own, as that of the database is.
      post: textPoster(
        guardedRequests({
          judgeAddress: () => 'exception',
          resolve: machineNames,
          httpsOnly: !sandbox,
        }),
        timeoutMs,
      ),
      sizes: new Map(),
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StartRefusal(`The file ${file} in AUDIT_WITNESS_POLICY is not a policy: ${why}`)
  }
}

/** Registers metrics of the audit log's state, and of rows that no entry accounts for. */
export function watchAuditLog(
  registry: Registry,
  audit: Pick<AuditLogContext, 'database' | 'found' | 'witnesses'>,
): void {
  const registers = [registry]
  new Gauge({
    name: 'pinfold_audit_findings',
    help: 'Findings of the last 30 days: rows that differ from the entries of the audit log.',
    registers,
    async collect() {
      this.reset()
      const state = await findCheckState(audit.database).catch(() => null)
      if (state) this.set(state.findings.length)
    },
  })
  // A series that is dropped raises no alert.
  let known = { waitingMs: 0, atMs: performance.now() }
  new Gauge({
    name: 'pinfold_audit_unentered_seconds',
    help:
      'Age of the oldest act that is not in the audit log; 0 without one. While it cannot be ' +
      'read, the last value grows with time.',
    registers,
    async collect() {
      const health = await describeEnteringHealth(audit.database).catch(() => null)
      if (health) known = { waitingMs: health.waitingMs, atMs: performance.now() }
      this.set((known.waitingMs + (health ? 0 : performance.now() - known.atMs)) / 1_000)
    },
  })
  const figures: readonly (readonly [string, string, (log: AuditLogHealth) => number | null])[] = [
    ['pinfold_audit_entries', 'Entries of the audit log.', ({ size }) => size],
    [
      'pinfold_audit_unsigned_seconds',
      'Age of the oldest entry that no checkpoint covers; 0 without one.',
      ({ unsignedMs }) => unsignedMs / 1_000,
    ],
    [
      'pinfold_audit_log_refused',
      '1 while the audit log is not signed, because the database differs from what was signed; ' +
        'otherwise 0.',
      ({ refusal }) => (refusal === null ? 0 : 1),
    ],
    [
      'pinfold_audit_log_cosigned',
      '1 while the witnesses that the policy requires have cosigned the newest checkpoint, ' +
        'otherwise 0.',
      ({ isCosigned }) => (isCosigned === null ? null : Number(isCosigned)),
    ],
  ]
  for (const [name, help, measure] of figures) {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.reset()
        const log = await findAuditLogHealth(audit).catch(() => null)
        const value = log && measure(log)
        if (value !== null) this.set(value)
      },
    })
  }
}
