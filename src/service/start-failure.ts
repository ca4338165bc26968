import { ConfigError } from '../config.ts'
import { Problem, StartRefusal } from '../errors.ts'

/** What is told of a failure to start: a message where an operator can mend it, else all of it. */
export function describeStartFailure(error: unknown): unknown {
  if (error instanceof ConfigError || error instanceof StartRefusal) return error.message
  if (error instanceof Problem) return describeProblem(error)
  if (!isAddressTaken(error)) return error
  const { address, code, port } = error
  return `${address}:${port} is taken by another program (${code}): set PORT or PRIVATE_PORT.`
}

/** A database that is away: the driver knows why, and tells no password. */
const describeProblem = ({ cause, message }: Problem): string =>
  cause instanceof Error ? `${message} ${cause.message}` : message

const isAddressTaken = (error: unknown): error is { address: string; code: string; port: number } =>
  error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
