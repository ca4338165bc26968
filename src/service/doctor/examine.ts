import { parseConfig } from '../config/config.ts'
import type { Environment } from '../config/variables.ts'
import { checkDatabase } from './database.ts'
import * as fileChecks from './files.ts'
import { type Check, describeError, type Finding, fault } from './finding.ts'
import { checkListeners } from './listeners.ts'
import * as programChecks from './program.ts'

/** All checks by the subject of their findings, in the order of the report. */
const checks: Readonly<Record<string, Check>> = {
  node: programChecks.checkNode,
  configuration: programChecks.checkConfiguration,
  accepted: programChecks.checkAccepted,
  exposure: programChecks.checkExposure,
  egress: programChecks.checkEgress,
  'data-directory': fileChecks.checkDataDirectory,
  'secret-files': fileChecks.checkSecretFiles,
  'master-key': fileChecks.checkMasterKeyFile,
  administrator: fileChecks.checkAdministrator,
  database: checkDatabase,
  hsm: programChecks.checkHsm,
  tls: fileChecks.checkTls,
  listeners: checkListeners,
  issuer: programChecks.checkIssuers,
}

/**
 * Runs all checks and changes nothing. A faulty variable has its default in the other checks, so
 * that one fault hides no other.
 * @param now the clock of this machine
 */
export async function examine(
  environment: Environment,
  now: () => Date = () => new Date(),
): Promise<readonly Finding[]> {
  const { config } = parseConfig(environment)
  const findings: Finding[] = []
  // In sequence, since a later check must not find a port or lock of an earlier one.
  for (const [subject, check] of Object.entries(checks)) {
    const found = await check({ environment, config, now }).catch((error: unknown) => [
      fault(
        subject,
        `The check did not complete: ${describeError(error)}`,
        'Its result is unknown.',
        'Correct the other findings first, then check again.',
      ),
    ])
    findings.push(...found)
  }
  return findings
}
