import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Hsm } from '../hsm/hsm.ts'
import type { KeyAdministration } from '../hsm/key-administration.ts'
import type { KeyManagement } from '../key-management/key-management.ts'
import { keyTimings } from '../key-management/key-timings.ts'
import type { Database } from '../storage/database.ts'

/** What the operations on keys work with. Each act is also a line of the log. */
export const createKeyManagement = (
  database: Database,
  hsm: Hsm & KeyAdministration,
  keyRefreshMs: number,
  log: Logger,
): KeyManagement => ({
  database,
  hsm,
  timings: keyTimings(keyRefreshMs),
  processId: randomUUID(),
  tellAct({ act, clientId = null, key, requestId = null }) {
    log.info({ act, key, clientId, requestId }, 'key')
  },
})
