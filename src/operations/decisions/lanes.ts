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
  readonly request: GuardedRequest
  readonly breaker: Breaker
  /** Requests that wait for an answer. */
  inFlight: number
  /** Requests after their deadline, whose answers are still read. */
  overdue: number
}

/** The lanes of this process. */
export interface Lanes {
  find(endpoint: DecisionEndpoint, purpose: DecisionPurpose): Lane
  list(): readonly Lane[]
}

/** A lane without a request is forgotten after this time. */
const idleMs = 3_600_000

/** A client has a few. */
const lanesMax = 20_000

export function createLanes(rules: OutboundRules): Lanes {
  const lanes = new LRUCache<string, Lane>({ max: lanesMax, ttl: idleMs, updateAgeOnGet: true })
  return {
    find({ clientId, productId, version }, purpose) {
      const name = `${purpose}\n${productId ?? 0}\n${version}\n${clientId}`
      const known = lanes.get(name)
      if (known) return known
      const request = guardedRequests(rules)
      const lane: Lane = { request, breaker: createBreaker(), inFlight: 0, overdue: 0 }
      lanes.set(name, lane)
      return lane
    },
    list: () => [...lanes.values()],
  }
}
