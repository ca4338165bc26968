import { Problem } from '../../domain/problem.ts'
import type { TokenAttempt } from '../oauth/token-endpoint.ts'
import { type Admission, createAdmission } from './admission.ts'
import { toNetwork } from './caller-address.ts'
import { type Rate, rateLimiter, type SpendSharing } from './rate-limit.ts'

interface TokenRates {
  /** Tokens of a client; and failures of one that is named, from one network. */
  readonly client: Rate
  /** Failures of a network, whatever clients it names. */
  readonly address: Rate
}

/** Who asks for a token, as far as it is known before anything is verified. */
interface TokenRequest {
  readonly address: string
  /** The client that the request names, whether or not it is that one. */
  readonly clientId: string | undefined
  /** Aborted when nobody waits for the answer any more. */
  readonly gone: AbortSignal
}

/** Limits how often and how many at once ask for tokens. */
export interface TokenAttempts {
  /**
   * Verifies a request when it may begin.
   * @throws `Problem` `rate_limited` or `unavailable` when there are too many before it.
   */
  verify(request: TokenRequest, work: (attempt: TokenAttempt) => Promise<void>): Promise<void>
}

/**
 * Verified first, then charged: what succeeds to the client that it is proved to be, what fails to
 * the network that it came from, alone and together with the client it named. A stranger who names
 * a client spends nothing of that client's, and a right secret passes however many wrong ones came
 * before it.
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
      // Whoever guesses at one client waits behind its own requests, and the others of its network
      // behind theirs. From the first failure on: what is charged comes back all the time, and lets
      // a flood in among the others.
      const hasFailed = failuresOfPair.left(pair) < client.burst
      const leave = await admission.enter(hasFailed ? pair : network, { gone })
      try {
        await work({
          succeeded(provedClientId) {
            // What is left is no verification: the next one need not wait for the token to be
            // signed.
            leave()
            return tokens.spend(provedClientId)
          },
          failed() {
            const limits = [
              [failuresOfPair, pair],
              [failuresOfNetwork, network],
            ] as const
            // Of both or of none: the one that may be used up is asked first.
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

/**
 * Proofs of identity of one subject that are verified at once when none of its may fail any more.
 */
const atOnceWithoutFailuresLeft = 2

/**
 * Bounds how many proofs of identity are verified at once. Verifying costs a look-up, a hash or a
 * signature and comes before anything is charged, so that a right secret passes: without a bound
 * strangers could buy as much of it as they like. Subjects (networks, mostly) take turns, so that a
 * flood of one does not delay the others.
 * @param failuresLeft how many proofs of a subject may still fail. So many are verified at once,
 *   because a failure is charged only when it is known.
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
