import pino, { type DestinationStream, type Logger } from 'pino'
import { escapeLine, escapeText } from '../domain/terminal-text.ts'
import { secretPaths } from '../listeners/public/schemas/formats.ts'
import type { LogLevel } from './config/config.ts'

/**
 * One line an event, with what schemas call secret masked: JSON for programs, words where a person
 * reads it, on a terminal.
 */
export const createLog = (
  level: LogLevel,
  destination: DestinationStream = process.stdout.isTTY
    ? { write: (line) => process.stdout.write(formatLine(JSON.parse(line))) }
    : pino.destination(),
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

/** What a line of the log has: its level, time and message, and whatever else was said. */
interface LogLine {
  readonly level: number
  readonly time: string
  readonly msg: string
  /** As `describeError` tells it: of an error of the database neither message nor stack. */
  readonly err?: { readonly stack?: string; readonly message?: string; readonly type?: string }
  readonly [name: string]: unknown
}

/**
 * A line of the log as a person reads it: `12:00:03 answered method=GET route=/readyz status=200`.
 */
export function formatLine({ err, level, msg, time, ...rest }: LogLine): string {
  const label = pino.levels.labels[level] ?? String(level)
  const mark = level === pino.levels.values.info ? '' : `${label.toUpperCase()} `
  const clock = new Date(time).toTimeString().slice(0, 8)
  const { message, stack = message, type, ...facts } = err ?? {}
  const told = { ...rest, ...(stack === undefined && type !== undefined && { type }), ...facts }
  // Each value as short as it can be told from the next.
  const said = Object.entries(told).map(([name, value]) => {
    const isPlain = typeof value === 'string' && /^[\w./:@-]+$/.test(value)
    return ` ${name}=${isPlain ? value : JSON.stringify(value)}`
  })
  const trace = stack === undefined ? '' : `\n${stack.replaceAll(/^/gm, '  ')}`
  // No text that came from elsewhere moves the cursor or changes a colour.
  return `${escapeText(`${clock} ${mark}${escapeLine(msg)}${said.join('')}${trace}`)}\n`
}
