import { parseConfig } from '../config/config.ts'
import type { Environment } from '../config/variables.ts'
import { checkDatabase } from './database.ts'
import {
  checkAdministrator,
  checkDataDirectory,
  checkMasterKeyFile,
  checkSecretFiles,
  checkTls,
} from './files.ts'
import { type Check, type Finding, fault, messageOf } from './finding.ts'
import { checkListeners } from './listeners.ts'
import {
  checkAccepted,
  checkConfiguration,
  checkEgress,
  checkExposure,
  checkHsm,
  checkIssuers,
  checkNode,
} from './program.ts'

/** Everything that is looked at, in the order in which it is reported. */
const checks: readonly Check[] = [
  checkNode,
  checkConfiguration,
  checkAccepted,
  checkExposure,
  checkEgress,
  checkDataDirectory,
  checkSecretFiles,
  checkMasterKeyFile,
  checkAdministrator,
  checkDatabase,
  checkHsm,
  checkTls,
  checkListeners,
  checkIssuers,
]

/**
 * Looks at everything that the service needs, and changes nothing. A fault hides no other: what is wrong
 * in the environment stands at its default while the rest is looked at.
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
        `A check came to no end: ${messageOf(error)}`,
        'What it looks at is not known.',
        'Mend the other findings first, then look again.',
      ),
    ])
    findings.push(...found)
  }
  return findings
}
