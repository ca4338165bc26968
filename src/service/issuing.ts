import type { Limits } from '../config.ts'
import type { Hsm } from '../hsm/hsm.ts'
import type { Issuing, IssuingLimits } from '../issuing/issuing.ts'
import type { Database } from '../storage/database.ts'

const hourSeconds = 3_600

/** What the operations work with. */
export const createIssuing = (
  database: Database,
  hsm: Hsm,
  limits: Limits | null,
  now: () => Date,
): Issuing => ({ database, hsm, now, limits: limits ? limitsOf(limits) : noLimits })

const noLimits: IssuingLimits = {
  revealsPerCard: null,
  revealsPerClient: null,
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
  unblocksPerCard: {
    limitName: 'unblock',
    purpose: 'unblocks',
    uses: limits.unblocksPerCardDay,
    windowSeconds: 24 * hourSeconds,
  },
})
