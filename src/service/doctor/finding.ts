import type { Config } from '../config/config.ts'
import type { Environment } from '../config/variables.ts'

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

/**
 * What the checks look at. What is wrong in the environment stands in the configuration at its
 * default.
 */
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

/** Describes an error without its stack. */
export const describeError = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : describeError(error.cause)
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(describeError).join(', ')
  }
  return cause === '' || error.message.includes(cause) ? error.message : `${error.message} ${cause}`
}
