import type { Limits } from '../config/limits.ts'
import type { Hsm } from '../hsm/hsm.ts'
import type { Issuing, IssuingLimits } from '../issuing/issuing.ts'
import { createTurns } from '../issuing/turns.ts'
import type { Database } from '../storage/database.ts'

const hourSeconds = 3_600

/** What the operations work with. */
export const createIssuing = (
  database: Database,
  hsm: Hsm,
  limits: Limits | null,
  now: () => Date,
): Issuing => ({
  database,
  hsm,
  now,
  limits: limits ? limitsOf(limits) : noLimits,
  // Half of the thread pool (4 threads): the rest of the service works in it, too.
  sessionKeyTurns: createTurns({ atOnce: 2, waitingPerSubject: 100 }),
})

const noLimits: IssuingLimits = {
  revealsPerCard: null,
  revealsPerClient: null,
  badSessionKeysPerCard: null,
  badSessionKeysPerClient: null,
  unblocksPerCard: null,
}

const limitsOf = (limits: Limits): IssuingLimits => ({
  revealsPerCard: {
    limitName: 'reveal',
    purpose: 'disclosures',
    uses: limits.revealsPerCardHour,
    windowSeconds: hourSeconds,
  },
  revealsPerClient: {
    limitName: 'reveal',
    purpose: 'disclosures',
    uses: limits.revealsPerClientHour,
    windowSeconds: hourSeconds,
  },
  badSessionKeysPerCard: {
    limitName: 'bad_session_key',
    purpose: 'bad session keys',
    uses: limits.badKeysPerCardHour,
    windowSeconds: hourSeconds,
  },
  badSessionKeysPerClient: {
    limitName: 'bad_session_key',
    purpose: 'bad session keys',
    uses: limits.badKeysPerClientHour,
    windowSeconds: hourSeconds,
  },
  unblocksPerCard: {
    limitName: 'unblock',
    purpose: 'unblocks',
    uses: limits.unblocksPerCardDay,
    windowSeconds: 24 * hourSeconds,
  },
})
