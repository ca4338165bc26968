import type { OutcomeHeaders, TokenAttempt } from '../oauth/token-attempt.ts'
import { networkOf } from './caller-address.ts'
import { type Rate, type RateLimiter, rateLimiter } from './client-rate.ts'
import { verificationQueue } from './verification-queue.ts'

export interface TokenRates {
  /** Tokens of a client; and failures of one that is named, from one network. */
  readonly client: Rate
  /** Failures of a network, whatever clients it names. */
  readonly address: Rate
}

/** Who asks for a token, as far as it is known before anything is verified. */
export interface TokenRequest {
  readonly address: string
  /** The client that the request names, whether or not it is that one. */
  readonly clientId: string | undefined
  /** Aborted when nobody waits for the answer any more. */
  readonly gone: AbortSignal
}

/** Limits how often and how many at once ask for tokens. */
export interface TokenAttempts {
  /**
   * Verifies a request when it is its turn.
   * @throws `Problem` `rate_limited` or `unavailable` when there are too many before it.
   */
  verify(request: TokenRequest, work: (attempt: TokenAttempt) => Promise<void>): Promise<void>
}

/**
 * Verified first, then charged: what succeeds to the client that it is proved to be, what fails to the network that it
 * came from, alone and together with the client it named. A stranger who names a client spends nothing of that
 * client's, and a right secret passes however many wrong ones came before it.
 */
export function tokenAttempts({ address: addressRate, client }: TokenRates): TokenAttempts {
  const tokens = rateLimiter(client)
  const failuresOfPair = rateLimiter(client, undefined, 'client-failures')
  const failuresOfNetwork = rateLimiter(addressRate, undefined, 'address-failures')
  const queue = verificationQueue({
    failuresLeft: (subject) =>
      Math.min(failuresOfPair.left(subject), failuresOfNetwork.left(subject)),
  })
  return {
    async verify({ address, clientId, gone }, work) {
      const network = networkOf(address)
      const pair = JSON.stringify([clientId ?? null, network])
      // Whoever guesses at one client waits for turns of its own, and the others of its network for theirs. From
      // the first failure on: what is charged comes back all the time, and lets a flood in among the others.
      const hasFailed = failuresOfPair.left(pair) < client.burst
      const endTurn = await queue.enter(hasFailed ? pair : network, gone)
      try {
        await work({
          succeeded(provedClientId) {
            // What is left is no verification: the next one need not wait for the token to be signed.
            endTurn()
            return tokens.spend(provedClientId)
          },
          failed: () =>
            spendAll([
              [failuresOfPair, pair],
              [failuresOfNetwork, network],
            ]),
        })
      } finally {
        endTurn()
      }
    },
  }
}

/** Spends of all limits, or of none where one of them is used up. @throws `Problem` `rate_limited`. */
function spendAll(limits: readonly (readonly [RateLimiter, string])[]): OutcomeHeaders {
  const ordered = limits.toSorted(
    ([one, subject], [other, otherSubject]) => one.left(subject) - other.left(otherSubject),
  )
  const told = ordered.map(([limiter, subject]) => limiter.spend(subject))
  return {
    ratelimit: told.map((each) => each.ratelimit).join(', '),
    'ratelimit-policy': told.map((each) => each['ratelimit-policy']).join(', '),
  }
}
