import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Hsm } from '../hsm/contract/hsm.ts'
import type { KeyAdministration } from '../hsm/contract/key-administration.ts'
import type { CardDataContext } from '../operations/card-data/card-data.ts'
import { recordRefusals } from '../operations/card-data/refused-disclosures.ts'
import type { CardLimits } from '../operations/cards/cards.ts'
import { type KeyContext, keyTimings } from '../operations/keys/keys.ts'
import type { CardAndClientLimit } from '../storage/cards/limits.ts'
import type { Database } from '../storage/engine/database.ts'
import type { Config } from './config/config.ts'
import type { Limits } from './config/limits.ts'
import { admitSessionKeys } from './limits.ts'

const hourSeconds = 3_600

/** Creates the context of the operations on cards and card data. */
export const createIssuing = (
  database: Database,
  hsm: Hsm,
  limits: Limits | null,
  now: () => Date,
): CardDataContext => ({
  database,
  hsm,
  now,
  limits: limits ? composeLimits(limits) : noLimits,
  sessionKeys: admitSessionKeys(),
  refusedDisclosures: recordRefusals(database),
})

const noLimits: CardLimits = {
  reveals: null,
  badSessionKeys: null,
  unblocksPerCard: null,
  panSearches: null,
}

const composeLimits = (limits: Limits): CardLimits => ({
  reveals: hourly('reveal', 'disclosures', {
    perCard: limits.revealsPerCardHour,
    perClient: limits.revealsPerClientHour,
  }),
  badSessionKeys: hourly('bad_session_key', 'bad session keys', {
    perCard: limits.badKeysPerCardHour,
    perClient: limits.badKeysPerClientHour,
  }),
  unblocksPerCard: {
    limitName: 'unblock',
    purpose: 'unblocks',
    uses: limits.unblocksPerCardDay,
    windowSeconds: 24 * hourSeconds,
  },
  panSearches: {
    limitName: 'search_pan',
    purpose: 'searches by card number',
    uses: limits.panSearchesPerPersonHour,
    windowSeconds: hourSeconds,
  },
})

const hourly = (
  limitName: string,
  purpose: string,
  { perCard, perClient }: { readonly perCard: number; readonly perClient: number },
): CardAndClientLimit => {
  const limit = { limitName, purpose, windowSeconds: hourSeconds }
  return { perCard: { ...limit, uses: perCard }, perClient: { ...limit, uses: perClient } }
}

/** Creates the context of the operations on keys. Each act is also logged. */
export const createKeyManagement = (
  database: Database,
  hsm: Hsm & KeyAdministration,
  { keyRefreshMs, reEncryptionRowsPerSecond }: Config,
  log: Logger,
): KeyContext => ({
  database,
  hsm,
  timings: keyTimings(keyRefreshMs),
  rowsPerSecond: reEncryptionRowsPerSecond,
  processId: randomUUID(),
  logAct({ act, clientId = null, key, requestId = null }) {
    log.info({ act, key, clientId, requestId }, 'key')
  },
})
