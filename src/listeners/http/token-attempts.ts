import { Problem } from '../../domain/problem.ts'
import type { TokenAttempt } from '../oauth/token-endpoint.ts'
import { type Admission, createAdmission } from './admission.ts'
import { toNetwork } from './caller-address.ts'
import { type Rate, rateLimiter, type SpendSharing } from './rate-limit.ts'

interface TokenRates {
  /** The rate of a client's tokens, and of failures by client and network. */
  readonly client: Rate
  /** The rate of a network's failures, for all client ids. */
  readonly address: Rate
}

/** A token request before any verification. */
interface TokenRequest {
  readonly address: string
  /** The client that the request names, which is not verified. */
  readonly clientId: string | undefined
  /** Aborted when the caller has disconnected. */
  readonly gone: AbortSignal
}

/** Limits the rate and the concurrency of token requests. */
export interface TokenAttempts {
  /**
   * Verifies a request when it may begin.
   * @throws `Problem` `rate_limited` or `unavailable` if too many requests precede it.
   */
  verify(request: TokenRequest, work: (attempt: TokenAttempt) => Promise<void>): Promise<void>
}

/**
 * Charges requests after their verification: a success to the authenticated client, a failure to
 * its network, and to the pair of network and named client. So an attacker who names a client
 * spends nothing of that client's rate, and a right secret passes despite earlier failures.
 * @param share what each limiter shares with those of the same name in other processes.
 */
export function tokenAttempts(
  { address: addressRate, client }: TokenRates,
  share: (limiter: string) => SpendSharing | null = () => null,
): TokenAttempts {
  const limiter = (rate: Rate, counted: string, name = counted) =>
    rateLimiter(rate, undefined, counted, share(name))
  const tokens = limiter(client, 'calls', 'tokens')
  const failuresOfPair = limiter(client, 'client-failures')
  const failuresOfNetwork = limiter(addressRate, 'address-failures')
  const admission = admitVerifications((subject) =>
    Math.min(failuresOfPair.left(subject), failuresOfNetwork.left(subject)),
  )
  return {
    async verify({ address, clientId, gone }, work) {
      const network = toNetwork(address)
      const pair = JSON.stringify([clientId ?? null, network])
      // A caller that guesses at one client waits behind its own requests, and the others of its
      // network wait behind theirs. This applies from the first failure, because charges are
      // refilled all the time, and would let a flood in among the others.
      const hasFailed = failuresOfPair.left(pair) < client.burst
      const leave = await admission.enter(hasFailed ? pair : network, { gone })
      try {
        await work({
          succeeded(provedClientId) {
            // The verification has ended, so the next request need not wait for the signature of
            // the token.
            leave()
            return tokens.spend(provedClientId)
          },
          failed() {
            const limits = [
              [failuresOfPair, pair],
              [failuresOfNetwork, network],
            ] as const
            // Both limits or none are charged: the one that may be exhausted is checked first.
            const headers = limits
              .toSorted(([one, its], [other, others]) => one.left(its) - other.left(others))
              .map(([limiter, subject]) => limiter.spend(subject))
            return {
              ratelimit: headers.map((each) => each.ratelimit).join(', '),
              'ratelimit-policy': headers.map((each) => each['ratelimit-policy']).join(', '),
            }
          },
        })
      } finally {
        leave()
      }
    },
  }
}

/** The number of concurrent verifications of a subject that has no failures left. */
const atOnceWithoutFailuresLeft = 2

/**
 * Bounds the concurrent verifications. A verification costs a lookup and a hash or a signature, and
 * precedes every charge, so that a right secret passes: without a bound, attackers could consume
 * any amount of it. Subjects (usually networks) take turns, so that a flood of one does not delay
 * the others.
 * @param failuresLeft the remaining failures of a subject, which also bound its concurrent
 *   verifications, because a failure is only charged once it is known.
 */
const admitVerifications = (failuresLeft: (subject: string) => number): Admission =>
  createAdmission({
    atOnce: 8,
    atOncePerCaller: (subject) => Math.max(atOnceWithoutFailuresLeft, failuresLeft(subject)),
    waitingPerCaller: (subject) => (failuresLeft(subject) < 1 ? 256 : Number.POSITIVE_INFINITY),
    waitingInAll: 2_048,
    waitMs: 4_000,
    refuse: (subject) =>
      failuresLeft(subject) < 1
        ? new Problem('rate_limited', {
            detail: 'Too many requests from this address have failed.',
          })
        : new Problem('unavailable', {
            detail: 'Too many clients are requesting tokens.',
            retryAfterSeconds: 1,
          }),
  })
