import { escapeLine } from '../../domain/terminal-text.ts'
import { Unreachable } from '../command.ts'

/** A log as the private listener lists it: its number, which names its folder, and its name. */
export interface LogName {
  readonly log: number
  readonly origin: string
}

/** More logs than a service can have had: each follows a database that was restored. */
const mostLogs = 10_000

/** The name of a log is that of its key. */
const originForm = /^[^\s+\p{C}]{1,255}$/u

/**
 * The logs that a service lists, the one in use first.
 * @throws Unreachable where one has no number of its own, or no name: it becomes the name of a
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
