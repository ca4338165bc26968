import type { Limits } from '../config/limits.ts'
import type { Hsm } from '../hsm/hsm.ts'
import type { Issuing, IssuingLimits } from '../issuing/issuing.ts'
import { createTurns } from '../issuing/turns.ts'
import type { Database } from '../storage/database.ts'
import type { CardAndClientLimit } from '../storage/limits.ts'

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

const noLimits: IssuingLimits = { reveals: null, badSessionKeys: null, unblocksPerCard: null }

const limitsOf = (limits: Limits): IssuingLimits => ({
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
})

const hourly = (
  limitName: string,
  purpose: string,
  { perCard, perClient }: { readonly perCard: number; readonly perClient: number },
): CardAndClientLimit => {
  const limit = { limitName, purpose, windowSeconds: hourSeconds }
  return { perCard: { ...limit, uses: perCard }, perClient: { ...limit, uses: perClient } }
}
