import { LRUCache } from 'lru-cache'
import { Problem } from '../../domain/problem.ts'

/** A number of calls per second, after an initial burst. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** The rate headers (draft-ietf-httpapi-ratelimit-headers-10). */
type RateHeaders = Readonly<Record<'ratelimit' | 'ratelimit-policy', string>>

/**
 * Shares the counted calls with limiters in other processes.
 * @param takeOff is called with the calls that others counted.
 * @returns a function to call with each call that this one counts.
 */
export type SpendSharing = (
  takeOff: (caller: string, calls: number) => void,
) => (caller: string) => void

interface Bucket {
  tokens: number
  filledAtMs: number
}

/**
 * The maximum number of remembered callers. The one that was idle longest is removed first, and
 * starts full again.
 */
const callersMax = 50_000

/**
 * Limits the rate of each caller with a token bucket, refilled steadily. Counts of other processes
 * arrive later, so a bucket may be negative: calls are allowed again after it is refilled.
 * @param nowMs a monotonic clock, in milliseconds.
 * @param counted the counted calls, in the plural, as a caller reads it.
 */
export function rateLimiter(
  { burst, perSecond }: Rate,
  nowMs: () => number = () => performance.now(),
  counted = 'calls',
  share: SpendSharing | null = null,
): { spend(caller: string): RateHeaders; left(caller: string): number } {
  // With `max`, the cache would allocate memory for all callers at the first call.
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
    /** Returns the remaining calls without spending one. */
    left(caller) {
      const bucket = buckets.peek(caller)
      return bucket ? Math.max(0, Math.floor(countTokens(bucket, nowMs()))) : burst
    },
  }
}

export type RateLimiter = ReturnType<typeof rateLimiter>
