import { ConfigError, readConfig } from './config.ts'
import { runService } from './service/run.ts'

const stopTimeoutMs = 4_500

try {
  const service = await runService(readConfig())
  const stop = async () => {
    // Whatever hangs must not keep an operator's deployment waiting.
    setTimeout(() => process.exit(1), stopTimeoutMs).unref()
    await service.stop()
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)
} catch (error) {
  // What an operator can mend is a message; everything else needs its stack.
  console.error(error instanceof ConfigError ? error.message : error)
  process.exitCode = 1
}
