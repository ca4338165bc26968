import { type Environment, parseConfig } from '../../config.ts'
import { checkDatabase } from './check-database.ts'
import {
  checkAdministrator,
  checkDataDirectory,
  checkMasterKeyFile,
  checkSecretFiles,
} from './check-files.ts'
import { checkHsm } from './check-hsm.ts'
import { checkIssuers } from './check-issuers.ts'
import { checkListeners } from './check-listeners.ts'
import {
  checkAccepted,
  checkConfiguration,
  checkEgress,
  checkExposure,
  checkNode,
} from './check-program.ts'
import { checkTls } from './check-tls.ts'
import { type Check, type Finding, fault, messageOf } from './finding.ts'

/** Everything that is looked at, in the order in which it is told. */
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
    findings.push(...(await check({ environment, config, now }).catch(unfinished)))
  }
  return findings
}

const unfinished = (error: unknown): readonly Finding[] => [
  fault(
    'doctor',
    `A check came to no end: ${messageOf(error)}`,
    'What it looks at is not known.',
    'Mend the other findings first, then look again.',
  ),
]
