import type { FastifyRequest } from 'fastify'
import { Problem } from '../../../domain/problem.ts'
import { createAdmission } from '../../http/admission.ts'
import { requireCaller } from '../../http/authentication.ts'

/** How many calls of a client may wait for its endpoint at once. */
const trialsMax = 4

/**
 * Runs calls that ask a client's endpoint and wait for its answer. They take no place among the
 * calls in flight meanwhile: the answers to authorizations need these places.
 */
export function boundTrials() {
  const admission = createAdmission({
    atOnce: Number.POSITIVE_INFINITY,
    atOncePerCaller: trialsMax,
    waitingPerCaller: 0,
    waitMs: 0,
    refuse: () =>
      new Problem('rate_limited', {
        detail: `The limit of ${trialsMax} calls that wait for your endpoint at once is reached.`,
        retryAfterSeconds: 1,
      }),
  })
  /** @param run gets what to call when the wait begins. @throws `Problem` `rate_limited`. */
  return async <Result>(
    request: FastifyRequest,
    run: (onWaiting: () => void) => Promise<Result>,
  ): Promise<Result> => {
    const leave = await admission.enter(requireCaller(request).clientId)
    try {
      return await run(() => request.inFlight?.leave())
    } finally {
      leave()
    }
  }
}
