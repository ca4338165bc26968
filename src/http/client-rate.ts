import { LRUCache } from 'lru-cache'
import { Problem } from '../errors.ts'

/** So many calls a second, after a first burst. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** What a caller is told of its rate (draft-ietf-httpapi-ratelimit-headers-10). */
export type RateHeaders = Readonly<Record<'ratelimit' | 'ratelimit-policy', string>>

interface Bucket {
  tokens: number
  filledAtMs: number
}

/** Callers remembered at once; the one that was idle longest is forgotten first, and starts full. */
const callersMax = 50_000

/**
 * Limits how often each caller calls this process: a bucket of tokens a caller, refilled steadily.
 * @param nowMs a clock that never goes back, in milliseconds.
 */
export function rateLimiter(
  { burst, perSecond }: Rate,
  nowMs: () => number = () => performance.now(),
): { spend(caller: string): RateHeaders } {
  const buckets = new LRUCache<string, Bucket>({ max: callersMax })
  const policy = `"calls";q=${burst};w=${Math.ceil(burst / perSecond)}`

  function refill(caller: string): Bucket {
    const now = nowMs()
    const bucket = buckets.get(caller) ?? { tokens: burst, filledAtMs: now }
    const earned = ((now - bucket.filledAtMs) / 1000) * perSecond
    bucket.tokens = Math.min(burst, bucket.tokens + earned)
    bucket.filledAtMs = now
    buckets.set(caller, bucket)
    return bucket
  }

  return {
    /** Spends one call. @throws `Problem` `rate_limited`. */
    spend(caller) {
      const bucket = refill(caller)
      const isAllowed = bucket.tokens >= 1
      if (isAllowed) bucket.tokens -= 1
      const left = Math.floor(bucket.tokens)
      const secondsToFull = Math.ceil((burst - bucket.tokens) / perSecond)
      const headers = {
        'ratelimit-policy': policy,
        ratelimit: `"calls";r=${left};t=${secondsToFull}`,
      }
      if (isAllowed) return headers
      throw new Problem('rate_limited', {
        detail: `${perSecond} calls a second are allowed, after a burst of ${burst}.`,
        retryAfterSeconds: (1 - bucket.tokens) / perSecond,
        headers,
      })
    },
  }
}

export type RateLimiter = ReturnType<typeof rateLimiter>
