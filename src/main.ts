import { readConfig } from './config.ts'
import { runService } from './service/run.ts'
import { describeStartFailure } from './service/start-failure.ts'

const stopTimeoutMs = 4_500

try {
  const service = await runService(readConfig())
  const stop = async () => {
    // Whatever hangs must not keep an operator's deployment waiting.
    setTimeout(() => process.exit(1), stopTimeoutMs).unref()
    await service.stop()
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)
  // Whoever has read this may stop the program, and finds it listening.
  console.log(service.welcome)
} catch (error) {
  console.error(describeStartFailure(error))
  process.exitCode = 1
}
