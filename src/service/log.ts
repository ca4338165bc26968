import pino, { type DestinationStream, type Logger } from 'pino'
import { secretPaths } from '../listeners/public/schemas/formats.ts'
import type { LogLevel } from './config/config.ts'

/** One line of JSON an event, with what schemas call secret masked. */
export const createLog = (
  level: LogLevel,
  destination: DestinationStream = pino.destination(),
): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: [...secretPaths], censor: '***' },
      serializers: { err: describeError },
    },
    destination,
  )

/**
 * An error as the log has it. The message of a database error may quote a row's values, and its
 * stack begins with the message: of such an error the code alone is logged.
 */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const cause = error.cause === undefined ? undefined : describeError(error.cause)
  const isOfDatabase = 'severity' in error
  return {
    type: error.name,
    ...(code !== undefined && { code }),
    ...(!isOfDatabase && { message: error.message, stack: error.stack }),
    ...(cause && { cause }),
  }
}
