import type { Config } from '../config/config.ts'
import type { Environment } from '../config/variables.ts'

/** The result of one check. */
export interface Finding {
  /** The subject of the check: `database`, `clock`. */
  readonly check: string
  readonly verdict: 'good' | 'warning' | 'fault'
  /** The observation. */
  readonly found: string
  /** Why it matters; absent if the finding is good. */
  readonly why?: string
  /** The remedy. */
  readonly remedy?: string
}

/** The input of the checks. A faulty variable has its default in the configuration. */
export interface Examined {
  readonly environment: Environment
  readonly config: Config
  /** The clock of this machine. */
  now(): Date
}

/** Checks one subject and never throws because of a fault that it finds. */
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

/** Describes an error without its stack. */
export const describeError = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : describeError(error.cause)
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(describeError).join(', ')
  }
  return cause === '' || error.message.includes(cause) ? error.message : `${error.message} ${cause}`
}
