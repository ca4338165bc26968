/**
 * The breaker of an endpoint. It opens when 20 of the last 50 requests were not answered: then
 * nothing is sent for 5 seconds, and after that one request a second, a probe. The first answered
 * probe closes it.
 */
export interface Breaker {
  /** Whether a request may be sent now, and as what. */
  admit(): Admitted | null
  /**
   * Takes what became of an admitted request.
   * @returns the change that it makes, if any.
   */
  settle(admitted: Admitted, isAnswered: boolean): BreakerChange | null
  isOpen(): boolean
}

export type Admitted = 'request' | 'probe'

/** `answering`: the first answer since the breaker was created, or since it opened. */
export type BreakerChange =
  | { readonly to: 'degraded'; readonly unanswered: number }
  | { readonly to: 'answering' }

const remembered = 50
const unansweredMost = 20
const restMs = 5_000
const probeEveryMs = 1_000

/** @param now a clock that never goes back, in milliseconds. */
export function createBreaker(now: () => number = () => performance.now()): Breaker {
  let last: boolean[] = []
  let probesFromMs: number | null = null
  let isAnswering = false
  return {
    admit() {
      if (probesFromMs === null) return 'request'
      if (now() < probesFromMs) return null
      probesFromMs = now() + probeEveryMs
      return 'probe'
    },
    settle(admitted, isAnswered) {
      if (probesFromMs === null) last = [...last.slice(1 - remembered), isAnswered]
      // A request from before it opened tells nothing new.
      else if (admitted === 'request' || !isAnswered) return null
      if (isAnswered && !isAnswering) {
        probesFromMs = null
        isAnswering = true
        return { to: 'answering' }
      }
      const unanswered = last.filter((each) => !each).length
      if (unanswered < unansweredMost) return null
      probesFromMs = now() + restMs
      isAnswering = false
      last = []
      return { to: 'degraded', unanswered }
    },
    isOpen: () => probesFromMs !== null,
  }
}
