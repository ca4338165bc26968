import type { OperatorIssuer } from '../../console/people-issuer.ts'
import { Problem } from '../../domain/problem.ts'
import { createMetrics, type Metrics } from '../../listeners/http/metrics.ts'
import type { SpendSharing } from '../../listeners/http/rate-limit.ts'
import type { SandboxClock } from '../../listeners/private/routes/sandbox.ts'
import type { DemoSite } from '../../listeners/public/routes/demo.ts'
import type { MovableClock } from '../../sandbox/clock.ts'
import type { Peers } from './peers.ts'

/** State that the processes of one command share. */

/** Returns metrics with the samples of all processes, each with its process's number. */
export function sharedMetrics(peers: Peers): Metrics {
  const metrics = createMetrics({
    process: String(peers.number),
    read: () => peers.ask('metrics', null),
  })
  peers.onRequest('metrics', () => metrics.registry.getMetricsAsJSON())
  return metrics
}

/** How long calls are collected before the others are notified. */
const gatherMs = 20

/**
 * Enforces limits over all processes: each process counts its own calls and notifies the others,
 * which subtract them from their own count. A process does not ask others before a call, which
 * would cost as much as a read.
 * @returns a function that connects the limiter of a name with its peers.
 */
export function sharedLimits(peers: Peers): (limiter: string) => SpendSharing {
  const limiters = new Map<string, (caller: string, calls: number) => void>()
  const gathered = new Map<string, Map<string, number>>()
  const notify = () => {
    const spent = [...gathered].map(([limiter, calls]) => [limiter, [...calls]] as const)
    gathered.clear()
    peers.notify('spent', spent)
  }
  peers.onNotice('spent', (spent) => {
    for (const [limiter, calls] of spent) {
      for (const [caller, count] of calls) limiters.get(limiter)?.(caller, count)
    }
  })
  return (limiter) => (takeOff) => {
    limiters.set(limiter, takeOff)
    return (caller) => {
      if (gathered.size === 0) setTimeout(notify, gatherMs).unref()
      const calls = gathered.get(limiter) ?? new Map<string, number>()
      calls.set(caller, (calls.get(caller) ?? 0) + 1)
      gathered.set(limiter, calls)
    }
  }
}

const aheadMs = (clock: MovableClock): number => clock.now().getTime() - Date.now()

/**
 * Synchronizes the sandbox's clock in all processes. It only moves forward, so that after two
 * concurrent moves the later time applies.
 */
export async function followClock(clock: MovableClock, peers: Peers): Promise<void> {
  peers.onRequest('clock', (offsetMs) => {
    clock.moveTo(new Date(Date.now() + offsetMs))
    return aheadMs(clock)
  })
  // A process that starts later adopts the time of the others.
  const offsets = await peers.ask('clock', aheadMs(clock))
  for (const offsetMs of offsets) clock.moveTo(new Date(Date.now() + offsetMs))
}

/** Moves the clock of all processes before the request is answered. */
export const sharedClock = (
  { moveTo, now }: SandboxClock,
  clock: MovableClock,
  peers: Peers,
): SandboxClock => ({
  now,
  async moveTo(instant, request) {
    try {
      return await moveTo(instant, request)
    } finally {
      // Also when due work could not be recorded, since the clock was moved.
      await peers.ask('clock', aheadMs(clock))
    }
  },
})

/** Serves the demo. The first process stores the state of its client system and answers for all. */
export function sharedDemo(demo: DemoSite, peers: Peers): DemoSite {
  if (peers.number === 1) {
    peers.onRequest('demo', (request) => demo.answer(request))
    return demo
  }
  return {
    async answer(request) {
      const [answer] = await peers.ask('demo', request)
      // While the first process restarts.
      return answer ?? demo.answer(request)
    },
  }
}

/** Serves the sandbox's issuer of identities. The first process stores its sessions and keys. */
export function sharedIssuer(issuer: OperatorIssuer, peers: Peers): OperatorIssuer {
  if (peers.number === 1) {
    peers.onRequest('identities', (exchange) => issuer.answer(exchange))
    return issuer
  }
  return {
    async answer(exchange) {
      const [answer] = await peers.ask('identities', exchange)
      if (!answer) throw new Problem('unavailable')
      return answer
    },
  }
}
