/** A service that listens. */
export interface RunningService {
  /** What a person is to read now. */
  readonly welcome: string
  /** Finishes what runs, lets go of the database, and resolves. */
  stop(): Promise<void>
}

/** Of one process. */
const stopTimeoutMs = 4_500
/** Of the primary process, which waits a little longer than each of the others. */
export const stopAllTimeoutMs = 4_800

/**
 * Stops the service on a signal or on a call of the returned function, once, whichever comes first.
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
    // Whatever hangs must not keep an operator's deployment waiting.
    setTimeout(() => process.exit(1), timeoutMs).unref()
    await service.stop()
    stopped()
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)
  return stop
}
