import { readConfig } from './service/config/config.ts'
import { describeStartFailure } from './service/config/start-failure.ts'

try {
  // In here: with few open files allowed, loading it may fail as well.
  const { serve } = await import('./service/serve.ts')
  const service = await serve(readConfig())
  // Whoever has read this may stop the program, and finds it listening.
  console.log(service.welcome)
} catch (error) {
  console.error(describeStartFailure(error))
  process.exitCode = 1
}
