import { describeStartFailure, readConfig } from './service/config/config.ts'
import { serve } from './service/serve.ts'

try {
  const service = await serve(readConfig())
  // Whoever has read this may stop the program, and finds it listening.
  console.log(service.welcome)
} catch (error) {
  console.error(describeStartFailure(error))
  process.exitCode = 1
}
