import type { Config } from '../config.ts'
import { createAdmission } from '../http/admission.ts'
import type { Admissions } from '../http/in-flight.ts'

/**
 * Who lets calls begin. A card network has no limit but what is in flight, whatever limits are on: a
 * question waits, and is never refused for its number alone. Of the calls of clients half of what is in
 * work at once is always left to the others, and as many may wait as the rate lets a client send at once.
 */
export function createAdmissions({
  callWaitMs: waitMs,
  limits,
}: Pick<Config, 'callWaitMs' | 'limits'>): Admissions {
  const network = createAdmission({
    atOnce: 256,
    atOncePerCaller: 64,
    waitingPerCaller: 4_096,
    waitMs,
    ownBound: 'unavailable',
  })
  if (limits === null) return { network }
  const client = createAdmission({
    atOnce: limits.callsInFlight * 2,
    atOncePerCaller: limits.callsInFlight,
    waitingPerCaller: limits.calls.burst,
    waitMs,
    ownBound: 'rate_limited',
  })
  return { network, client }
}
