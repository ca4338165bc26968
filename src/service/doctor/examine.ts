import { type Config, parseConfig } from '../config/config.ts'
import type { Environment } from '../config/variables.ts'
import { checkDatabase } from './database.ts'
import {
  checkAdministrator,
  checkDataDirectory,
  checkMasterKeyFile,
  checkSecretFiles,
  checkTls,
} from './files.ts'
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

/** One thing that was looked at. */
export interface Finding {
  /** What was looked at: `database`, `clock`. */
  readonly check: string
  readonly verdict: 'good' | 'warning' | 'fault'
  /** What is so. */
  readonly found: string
  /** Why it matters; nothing where it is good. */
  readonly why?: string
  /** What to do about it. */
  readonly remedy?: string
}

/** What the checks look at. What is wrong in the environment stands in the configuration at its default. */
export interface Examined {
  readonly environment: Environment
  readonly config: Config
  /** The clock of this machine. */
  now(): Date
}

/** Looks at one thing, and never throws for what it finds. */
export type Check = (examined: Examined) => Promise<readonly Finding[]>

export const good = (check: string, found: string): Finding => ({ check, verdict: 'good', found })

export const warning = (check: string, found: string, why: string, remedy: string): Finding => ({
  check,
  verdict: 'warning',
  found,
  why,
  remedy,
})

export const fault = (check: string, found: string, why: string, remedy: string): Finding => ({
  check,
  verdict: 'fault',
  found,
  why,
  remedy,
})

/** What an error says, without its stack. */
export const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : messageOf(error.cause)
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(messageOf).join(', ')
  }
  return cause === '' || error.message.includes(cause) ? error.message : `${error.message} ${cause}`
}
