/** A service that listens. */
export interface RunningService {
  /** The message for the person who started it. */
  readonly welcome: string
  /** Finishes running requests, closes the database and resolves. */
  stop(): Promise<void>
}

/** The time limit of one process. */
const stopTimeoutMs = 4_500
/** The time limit of the primary process, longer than that of each worker. */
export const stopAllTimeoutMs = 4_800

/**
 * Stops the service once, on a signal or when the returned function is called.
 * @param stopped called after it has stopped.
 */
export function stopOnce(
  service: Pick<RunningService, 'stop'>,
  stopped: () => void = () => undefined,
  timeoutMs = stopTimeoutMs,
): () => void {
  let isStopping = false
  const stop = async () => {
    if (isStopping) return
    isStopping = true
    // A stop that hangs must not delay an operator's deployment.
    setTimeout(() => process.exit(1), timeoutMs).unref()
    await service.stop()
    stopped()
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)
  return stop
}
