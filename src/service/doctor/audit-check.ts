import { examineLog } from '../../operations/audit-log/continuation.ts'
import { findCheckState } from '../../operations/audit-log/findings.ts'
import { describeEnteringHealth } from '../../operations/audit-log/health.ts'
import { checkpointFile } from '../../storage/audit-log/checkpoint-file.ts'
import type { Database } from '../../storage/engine/database.ts'
import type { Config } from '../config/config.ts'
import { type Finding, fault, good, warning } from './finding.ts'

/** After this time, a daily check has failed to run. */
const overdueMs = 3 * 86_400_000

/**
 * Compares the audit log with its checkpoints that this machine stores
 * (docs/explanation/audit-log.md).
 */
export async function auditLogFindings(
  { audit }: Pick<Config, 'audit'>,
  database: Database,
): Promise<Finding[]> {
  // Only the service contacts witnesses and reports their disputes.
  const asked = { database, outside: checkpointFile(audit.checkpointFile), witnesses: null }
  const examined = await examineLog(asked)
  if (!examined) return [good('audit-log', 'No act has been entered yet.')]
  const { log } = examined
  const refusal = examined.refusal ?? log.refusal
  if (refusal === null) return [good('audit-log', `${log.origin} has ${log.size} entries.`)]
  return [
    fault(
      'audit-log',
      `The audit log is not signed: ${refusal}`,
      'The database was restored from a backup, a lagging standby took over, or entries were ' +
        'changed. Acts continue and are entered, but new entries cannot be verified.',
      'Find the cause. Then begin a successor of the log: pinfold audit succeed --reason TEXT.',
    ),
  ]
}

/** Whether acts are entered in the audit log. */
export async function auditEnteringFindings(database: Database): Promise<Finding[]> {
  const { isEntering, status, waitingMs } = await describeEnteringHealth(database)
  const seconds = Math.round(waitingMs / 1_000)
  if (status === 'pass') return [good('audit-entering', 'Acts are entered without delay.')]
  if (!isEntering) {
    return [
      good(
        'audit-entering',
        `An act of ${seconds} s ago will be entered after the start of the service.`,
      ),
    ]
  }
  const act = `An act of ${seconds} s ago`
  const found = `${act} is not in the audit log, although a process enters acts.`
  const why =
    'Acts continue, but cannot be verified, and erasures and expiries wait for their entries.'
  const remedy = 'Search the log for "acts could not be entered in the audit log".'
  const report = status === 'fail' ? fault : warning
  return [report('audit-entering', found, why, remedy)]
}

/**
 * The differences between rows and their entries in the audit log
 * (docs/reference/audit-records.md).
 */
export async function auditCheckFindings(database: Database, now: Date): Promise<Finding[]> {
  const { cards, findings, finishedAt } = await findCheckState(database)
  const [newest] = findings
  if (newest) {
    return [
      fault(
        'audit-check',
        `${findings.length} findings in 30 days; the newest: ${newest.found} ${newest.details}.`,
        'A row was changed, inserted or deleted without an entry in the audit log: by hand, or ' +
          'by a partial restore of the database.',
        'Read act check.found at GET /audit/logs/{log}/openings, and find out who else writes ' +
          'to the database.',
      ),
    ]
  }
  if (!finishedAt)
    return [good('audit-check', 'No comparison of rows with their entries has ended yet.')]
  if (now.getTime() - finishedAt.getTime() > overdueMs) {
    return [
      warning(
        'audit-check',
        `The last comparison of rows with their entries ended at ${finishedAt.toISOString()}.`,
        'Later changes by hand have not been detected.',
        'Search the log for "rows could not be compared with the audit log".',
      ),
    ]
  }
  return [good('audit-check', `${cards} cards match their entries.`)]
}
