import pino, { type DestinationStream, type Logger } from 'pino'
import { escapeLine, escapeText } from '../domain/terminal-text.ts'
import { secretPaths } from '../listeners/public/schemas/formats.ts'
import type { LogLevel } from './config/config.ts'

/**
 * Creates the log: one line per event, with secret members masked. JSON for programs, text on a
 * terminal.
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
 * Returns an error for the log. The message of a database error may quote a row's values, and its
 * stack begins with the message, so only the code of such an error is logged.
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

/** A log line: level, time, message and further members. */
interface LogLine {
  readonly level: number
  readonly time: string
  readonly msg: string
  /** As returned by `describeError`: without message and stack for a database error. */
  readonly err?: { readonly stack?: string; readonly message?: string; readonly type?: string }
  readonly [name: string]: unknown
}

/** Formats a log line for a person: `12:00:03 answered method=GET route=/readyz status=200`. */
export function formatLine({ err, level, msg, time, ...rest }: LogLine): string {
  const label = pino.levels.labels[level] ?? String(level)
  const mark = level === pino.levels.values.info ? '' : `${label.toUpperCase()} `
  const clock = new Date(time).toTimeString().slice(0, 8)
  const { message, stack = message, type, ...facts } = err ?? {}
  const told = { ...rest, ...(stack === undefined && type !== undefined && { type }), ...facts }
  // Each value is as short as is unambiguous.
  const said = Object.entries(told).map(([name, value]) => {
    const isPlain = typeof value === 'string' && /^[\w./:@-]+$/.test(value)
    return ` ${name}=${isPlain ? value : JSON.stringify(value)}`
  })
  const trace = stack === undefined ? '' : `\n${stack.replaceAll(/^/gm, '  ')}`
  // Escaped, so that foreign text cannot move the cursor or change colours.
  return `${escapeText(`${clock} ${mark}${escapeLine(msg)}${said.join('')}${trace}`)}\n`
}
