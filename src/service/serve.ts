import type { Config } from '../config.ts'
import { type RunningService, runService } from './run.ts'

const stopTimeoutMs = 4_500

/** Runs the service until a signal stops it. @returns it when it listens. */
export async function serve(config: Config): Promise<RunningService> {
  const service = await runService(config)
  const stop = async () => {
    // Whatever hangs must not keep an operator's deployment waiting.
    setTimeout(() => process.exit(1), stopTimeoutMs).unref()
    await service.stop()
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)
  return service
}
