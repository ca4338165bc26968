import { LRUCache } from 'lru-cache'
import { Problem } from '../../domain/problem.ts'

/** So many calls a second, after a first burst. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** The headers by which a caller knows its rate (draft-ietf-httpapi-ratelimit-headers-10). */
type RateHeaders = Readonly<Record<'ratelimit' | 'ratelimit-policy', string>>

/**
 * How a limiter that is one of several, each in a process of its own, knows of the calls that the
 * others counted.
 * @param takeOff is called with those.
 * @returns what is called with each that this one counts.
 */
export type SpendSharing = (
  takeOff: (caller: string, calls: number) => void,
) => (caller: string) => void

interface Bucket {
  tokens: number
  filledAtMs: number
}

/**
 * Callers remembered at once; the one that was idle longest is forgotten first, and starts full.
 */
const callersMax = 50_000

/**
 * Limits how often each caller calls: a bucket of tokens a caller, refilled steadily. What other
 * processes counted comes later, so that a bucket may owe: a call is allowed again when that is
 * paid back.
 * @param nowMs a clock that never goes back, in milliseconds.
 * @param counted what is counted, in the plural, as a caller reads it.
 */
export function rateLimiter(
  { burst, perSecond }: Rate,
  nowMs: () => number = () => performance.now(),
  counted = 'calls',
  share: SpendSharing | null = null,
): { spend(caller: string): RateHeaders; left(caller: string): number } {
  // Bounded by `max` it would take the memory for all of them at once, at the first call.
  const buckets = new LRUCache<string, Bucket>({ maxSize: callersMax, sizeCalculation: () => 1 })
  const policy = `"${counted}";q=${burst};w=${Math.ceil(burst / perSecond)}`

  function countTokens({ filledAtMs, tokens }: Bucket, now: number): number {
    return Math.min(burst, tokens + ((now - filledAtMs) / 1000) * perSecond)
  }

  function refill(caller: string): Bucket {
    const now = nowMs()
    const bucket = buckets.get(caller) ?? { tokens: burst, filledAtMs: now }
    bucket.tokens = countTokens(bucket, now)
    bucket.filledAtMs = now
    buckets.set(caller, bucket)
    return bucket
  }

  const noteSpend = share?.((caller, calls) => {
    refill(caller).tokens -= calls
  })

  return {
    /** Spends one call. @throws `Problem` `rate_limited`. */
    spend(caller) {
      const bucket = refill(caller)
      const isAllowed = bucket.tokens >= 1
      if (isAllowed) {
        bucket.tokens -= 1
        noteSpend?.(caller)
      }
      const left = Math.max(0, Math.floor(bucket.tokens))
      const secondsToFull = Math.ceil((burst - bucket.tokens) / perSecond)
      const headers = {
        'ratelimit-policy': policy,
        ratelimit: `"${counted}";r=${left};t=${secondsToFull}`,
      }
      if (isAllowed) return headers
      throw new Problem('rate_limited', {
        detail: `The limit is ${perSecond} ${counted} per second, after a burst of ${burst}.`,
        retryAfterSeconds: (1 - bucket.tokens) / perSecond,
        headers,
      })
    },
    /** How many it has left; spends nothing. */
    left(caller) {
      const bucket = buckets.peek(caller)
      return bucket ? Math.max(0, Math.floor(countTokens(bucket, nowMs()))) : burst
    },
  }
}

export type RateLimiter = ReturnType<typeof rateLimiter>
