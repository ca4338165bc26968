import { LRUCache } from 'lru-cache'
import type { DecisionEndpoint, DecisionPurpose } from '../../domain/decision.ts'
import {
  type GuardedRequest,
  guardedRequests,
  type OutboundRules,
} from '../../outbound/guarded-request.ts'
import { type Breaker, createBreaker } from './breaker.ts'

/**
 * What the requests of one purpose to one version of an endpoint share, and no others do: their
 * connections, their number and their breaker. So nothing that hangs there holds up another client.
 */
export interface Lane {
  readonly purpose: DecisionPurpose
  readonly request: GuardedRequest
  readonly breaker: Breaker
  /** Requests that wait for an answer. */
  inFlight: number
  /** Requests after their deadline, whose answers are still read. */
  overdue: number
  /** When it was last asked for, by the clock of the lanes. */
  usedAtMs: number
}

/** The lanes of this process. */
export interface Lanes {
  find(endpoint: DecisionEndpoint, purpose: DecisionPurpose): Lane
  list(): readonly Lane[]
  /** Counts the lanes in use for authorizations whose breakers are open. */
  countOpenBreakers(): number
}

/** A lane without a request is deleted after this time. */
const idleMs = 3_600_000

/** A client has a few. */
const lanesMax = 20_000

/** A version that was replaced, or whose client has no traffic, gets no more requests. */
const inUseMs = 60_000

/** @param now a clock that never goes back, in milliseconds. */
export function createLanes(
  rules: OutboundRules,
  now: () => number = () => performance.now(),
): Lanes {
  const lanes = new LRUCache<string, Lane>({ max: lanesMax, ttl: idleMs, updateAgeOnGet: true })
  return {
    find({ clientId, productId, version }, purpose) {
      const name = `${purpose}\n${productId ?? 0}\n${version}\n${clientId}`
      const known = lanes.get(name)
      if (known) {
        known.usedAtMs = now()
        return known
      }
      const lane: Lane = {
        purpose,
        request: guardedRequests(rules),
        breaker: createBreaker(now),
        inFlight: 0,
        overdue: 0,
        usedAtMs: now(),
      }
      lanes.set(name, lane)
      return lane
    },
    list: () => [...lanes.values()],
    countOpenBreakers() {
      const sinceMs = now() - inUseMs
      const used = [...lanes.values()].filter(
        ({ purpose, usedAtMs }) => purpose === 'authorize' && usedAtMs >= sinceMs,
      )
      return used.filter(({ breaker }) => breaker.isOpen()).length
    },
  }
}
