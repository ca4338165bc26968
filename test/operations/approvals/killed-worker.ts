/**
 * A process that carries out what is approved, and is killed before it can put down what came of
 * it.
 */
import { carryOutApproved } from '../../../src/operations/approvals/carry-out.ts'
import { readConfig } from '../../../src/service/config/config.ts'
import { openDatabasesAsIs } from '../../../src/service/database.ts'
import { createLog } from '../../../src/service/log.ts'
import { createService } from '../../../src/service/service.ts'

const config = readConfig()
const log = createLog('silent')
const { approvals, sendApproved } = await createService(
  config,
  await openDatabasesAsIs(config, log),
  log,
)
await carryOutApproved(
  approvals,
  async (request) => {
    await sendApproved(request)
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => undefined)
  },
  crypto.randomUUID(),
  new AbortController().signal,
)
