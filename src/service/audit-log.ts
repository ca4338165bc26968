import { readFile } from 'node:fs/promises'
import { Problem, StartRefusal } from '../domain/problem.ts'
import { parseWitnessPolicy } from '../domain/witness-policy.ts'
import type { Hsm } from '../hsm/contract/hsm.ts'
import type { AuditLogOperations } from '../operations/audit/audit-log.ts'
import type { Witnesses } from '../operations/audit/witnesses.ts'
import { guardedRequests, textPoster } from '../outbound/guarded-request.ts'
import { machineNames } from '../outbound/resolve-host.ts'
import { checkpointFile } from '../storage/audit/checkpoint-file.ts'
import type { Database } from '../storage/engine/database.ts'
import type { Config } from './config/config.ts'

/** Receipts are to be there after two seconds: a witness that takes longer is not waited for. */
const witnessTimeoutMs = 1_000

/**
 * What the operations on the audit log work with.
 * @throws `StartRefusal` where a policy cannot be read, or ML-DSA-44 is asked for and cannot be had.
 */
export async function createAuditLog(
  { audit, sandbox }: Pick<Config, 'audit' | 'sandbox'>,
  database: Database,
  hsm: Hsm,
): Promise<AuditLogOperations> {
  if (audit.mlDsa) {
    await hsm.generateAuditMlDsaKey().catch((error: unknown) => {
      if (!(error instanceof Problem) || error.code !== 'key_refused') throw error
      throw new StartRefusal(`AUDIT_LOG_ML_DSA is yes, and cannot be: ${error.detail}`)
    })
  }
  return {
    database,
    hsm,
    origin: audit.origin,
    withMlDsa: audit.mlDsa,
    outside: checkpointFile(audit.checkpointFile),
    witnesses:
      audit.witnessPolicyFile === null
        ? null
        : await openWitnesses(audit.witnessPolicyFile, sandbox),
  }
}

async function openWitnesses(file: string, sandbox: boolean): Promise<Witnesses> {
  try {
    return {
      policy: parseWitnessPolicy(await readFile(file, 'utf8')),
      // Their addresses are the operator's own, as that of the database is.
      post: textPoster(
        guardedRequests({
          verdictOf: () => 'exception',
          resolve: machineNames,
          httpsOnly: !sandbox,
        }),
        witnessTimeoutMs,
      ),
      sizes: new Map(),
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StartRefusal(`AUDIT_WITNESS_POLICY ${file} is no policy: ${why}`)
  }
}
