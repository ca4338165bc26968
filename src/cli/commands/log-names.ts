import { escapeLine } from '../../domain/terminal-text.ts'
import { Unreachable } from '../command.ts'

/** A log in the private listener's list: its number, which names its folder, and its name. */
export interface LogName {
  readonly log: number
  readonly origin: string
}

/** More logs than a service can have: each follows a restore of the database. */
const mostLogs = 10_000

/** The name of a log is the name of its key. */
const originForm = /^[^\s+\p{C}]{1,255}$/u

/**
 * Parses a service's list of logs, the current one first.
 * @throws Unreachable when a log has a repeated number or an invalid name, which would name a
 *   folder
 */
export function parseLogNames<Listed extends LogName>(answer: unknown): Listed[] {
  if (!Array.isArray(answer) || answer.length > mostLogs) {
    throw new Unreachable('The answer of the service is not a list of audit logs.')
  }
  const numbers = new Set<unknown>()
  for (const each of answer) {
    if (!isLogName(each) || numbers.has(each.log)) {
      const said = escapeLine(JSON.stringify(each).slice(0, 100))
      throw new Unreachable(`The list of the service has an invalid audit log: ${said}`)
    }
    numbers.add(each.log)
  }
  return answer
}

function isLogName(listed: unknown): listed is LogName {
  if (typeof listed !== 'object' || listed === null) return false
  if (!('log' in listed && 'origin' in listed)) return false
  const { log, origin } = listed
  const isNumber = typeof log === 'number' && Number.isSafeInteger(log) && log > 0
  return isNumber && typeof origin === 'string' && originForm.test(origin)
}
