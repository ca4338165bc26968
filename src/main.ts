import { readConfig } from './service/config/config.ts'
import { describeStartFailure } from './service/config/start-failure.ts'

try {
  // Imported here, since the import can fail too when few open files are allowed.
  const { serve } = await import('./service/serve.ts')
  const service = await serve(readConfig())
  // Printed after the start: a reader of this message may stop the program.
  console.log(service.welcome)
} catch (error) {
  console.error(describeStartFailure(error))
  process.exitCode = 1
}
