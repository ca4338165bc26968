import { type Config, processEnvironment } from './config/config.ts'
import { findUnknownVariables } from './config/unknown-variables.ts'
import { createLog } from './log.ts'
import { type RunningService, stopOnce } from './stop.ts'

/**
 * Runs the service in the configured number of processes until a signal stops it.
 * @returns when all of them listen.
 */
export async function serve(config: Config): Promise<RunningService> {
  const log = createLog(config.logLevel)
  for (const { acceptance, found } of config.accepted) {
    log.warn({ accepted: acceptance }, `${acceptance} is yes: ${found}`)
  }
  for (const found of findUnknownVariables(processEnvironment())) log.warn(found)
  // Imported as needed: the primary process of several serves nothing itself.
  if (config.processes > 1) {
    const { runProcesses } = await import('./processes/primary.ts')
    return runProcesses(config, log)
  }
  const { runService } = await import('./run.ts')
  const service = await runService(config, log)
  stopOnce(service)
  return service
}
