/**
 * The program of a worker process: the service, as the primary process started it. The primary
 * reports a failure to start, so that it is reported once.
 */
import { inspect } from 'node:util'
import { readConfig } from '../config/config.ts'
import { describeStartFailure } from '../config/start-failure.ts'
import { createLog } from '../log.ts'
import { runService } from '../run.ts'
import { type RunningService, stopOnce } from '../stop.ts'
import { connectToPrimary } from './peers.ts'

const [, , number = '1'] = process.argv

let stop = (): void => process.exit(0)
const { peers, report } = connectToPrimary(Number(number), () => stop())

try {
  const config = readConfig()
  const log = createLog(config.logLevel).child({ process: peers.number })
  const service: RunningService = await runService(config, log, peers)
  // The channel to the primary process would keep this one alive.
  stop = stopOnce(service, () => process.exit())
  await report({ kind: 'ready', welcome: service.welcome })
} catch (error) {
  const reason = describeStartFailure(error)
  await report({ kind: 'failed', reason: typeof reason === 'string' ? reason : inspect(reason) })
  process.exit(1)
}
