/**
 * The program of one of several processes: the service, as the primary process started it. What
 * could not be started is said by the primary, so that it is said once.
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
  // The channel to the primary would keep it.
  stop = stopOnce(service, () => process.exit())
  await report({ kind: 'ready', welcome: service.welcome })
} catch (error) {
  const reason = describeStartFailure(error)
  await report({ kind: 'failed', reason: typeof reason === 'string' ? reason : inspect(reason) })
  process.exit(1)
}
