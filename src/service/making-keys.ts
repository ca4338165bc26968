import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Hsm } from '../hsm/hsm.ts'
import type { Database } from '../storage/database.ts'
import { claimLease, releaseLease } from '../storage/leases.ts'

const leaseName = 'make-card-data-keys'
const leaseSeconds = 30
const renewAfterMs = 10_000
/** How long a process waits that is not the one to make them. */
const standByMs = 1_000
const retryMs = 5_000

/** What makes the keys, and what says who does. */
export interface KeyMaking {
  readonly database: Database
  readonly hsm: Hsm
  readonly log: Logger
}

/**
 * Makes the keys that take long to make, beside everything else, until they are there or it is
 * stopped. Where several processes start at once, one makes them, by lease. The lease spares work: were
 * it lost, two would make them, and the first one's be kept.
 */
export function startMakingKeys(making: KeyMaking): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const running = makeUntilThere(making, signal).catch(() => undefined)
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** @throws AbortError when it is stopped. */
async function makeUntilThere(making: KeyMaking, signal: AbortSignal): Promise<void> {
  const holder = randomUUID()
  while (!signal.aborted) {
    const outcome = await tryToMake(making, holder, signal)
    if (outcome === 'made') return
    await wait(outcome === 'failed' ? retryMs : standByMs, undefined, { signal })
  }
}

async function tryToMake(
  making: KeyMaking,
  holder: string,
  signal: AbortSignal,
): Promise<'made' | 'failed' | 'another makes them'> {
  try {
    const isOurs = await claimLease(making.database, leaseName, holder, leaseSeconds)
    if (!isOurs) return 'another makes them'
    await makeUnderLease(making, holder, signal)
    return 'made'
  } catch (err) {
    if (!signal.aborted) making.log.warn({ err }, 'keys could not be made')
    return 'failed'
  }
}

async function makeUnderLease(
  { database, hsm }: KeyMaking,
  holder: string,
  signal: AbortSignal,
): Promise<void> {
  const renew = () => {
    // The next turn comes before it is over.
    claimLease(database, leaseName, holder, leaseSeconds).catch(() => undefined)
  }
  const timer = setInterval(renew, renewAfterMs)
  try {
    await hsm.generateCardDataKeys(signal)
  } finally {
    clearInterval(timer)
    await releaseLease(database, leaseName, holder).catch(() => undefined)
  }
}
