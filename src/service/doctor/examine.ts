import { parseConfig } from '../config/config.ts'
import type { Environment } from '../config/variables.ts'
import { checkDatabase } from './database.ts'
import * as fileChecks from './files.ts'
import { type Check, describeError, type Finding, fault } from './finding.ts'
import { checkListeners } from './listeners.ts'
import * as programChecks from './program.ts'

/** Everything that is looked at, in the order in which it is reported. */
const checks: readonly Check[] = [
  programChecks.checkNode,
  programChecks.checkConfiguration,
  programChecks.checkAccepted,
  programChecks.checkExposure,
  programChecks.checkEgress,
  fileChecks.checkDataDirectory,
  fileChecks.checkSecretFiles,
  fileChecks.checkMasterKeyFile,
  fileChecks.checkAdministrator,
  checkDatabase,
  programChecks.checkHsm,
  fileChecks.checkTls,
  checkListeners,
  programChecks.checkIssuers,
]

/**
 * Looks at everything that the service needs, and changes nothing. A fault hides no other: what is
 * wrong in the environment stands at its default while the rest is looked at.
 * @param now the clock of this machine
 */
export async function examine(
  environment: Environment,
  now: () => Date = () => new Date(),
): Promise<readonly Finding[]> {
  const { config } = parseConfig(environment)
  const findings: Finding[] = []
  // One after the other: what one check opens another must find free again.
  for (const check of checks) {
    const found = await check({ environment, config, now }).catch((error: unknown) => [
      fault(
        'doctor',
        `A check did not complete: ${describeError(error)}`,
        'Its result is unknown.',
        'Correct the other findings first, then check again.',
      ),
    ])
    findings.push(...found)
  }
  return findings
}
