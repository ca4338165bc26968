import { ConfigError } from '../config.ts'
import { StartRefusal } from '../errors.ts'
import { Refused, Unreachable, UsageError } from './cli-error.ts'

/** What a command ends with. */
export const exitCodes = { done: 0, refused: 1, notUnderstood: 2, unreachable: 3 } as const

/**
 * Says why a command came to nothing: to people on standard error, to programs on standard output, too.
 * @returns the exit code.
 */
export function failed(error: unknown, isJson: boolean): number {
  const message = messageOf(error)
  console.error(message)
  if (isJson) console.log(JSON.stringify({ error: documentOf(error, message) }, null, 2))
  if (error instanceof UsageError) return exitCodes.notUnderstood
  return isUnreachable(error) ? exitCodes.unreachable : exitCodes.refused
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

const isUnreachable = (error: unknown): boolean =>
  error instanceof Unreachable || error instanceof ConfigError || error instanceof StartRefusal

function documentOf(error: unknown, message: string): object {
  if (error instanceof Refused) return { status: error.status, ...error.problem }
  if (error instanceof UsageError) return { code: 'not_understood', detail: message }
  return { code: isUnreachable(error) ? 'unreachable' : 'failed', detail: message }
}
