/**
 * The breaker of an endpoint. It opens when 20 of the last 50 requests were not answered: then
 * nothing is sent for 5 seconds, and after that one request a second, a probe. The first answered
 * probe closes it.
 */
export interface Breaker {
  /** Whether a request may be sent now, and as what. */
  admit(): Admitted | null
  /**
   * Takes the outcome of an admitted request.
   * @returns the change that it makes, or from time to time that nothing has changed.
   */
  settle(admitted: Admitted, isAnswered: boolean): BreakerChange | null
  isOpen(): boolean
}

export type Admitted = 'request' | 'probe'

/**
 * `answering`: the first answer since the breaker was created, or since it opened. The others
 * confirm the state, which may be that of a process that was lost.
 */
export type BreakerChange =
  | { readonly to: 'degraded'; readonly unanswered: number }
  | { readonly to: 'answering' | 'still-degraded' | 'still-answering' }

const remembered = 50
const unansweredMost = 20
const restMs = 5_000
const probeEveryMs = 1_000
const confirmEveryMs = 20_000

/** @param now a clock that never goes back, in milliseconds. */
export function createBreaker(now: () => number = () => performance.now()): Breaker {
  let last: boolean[] = []
  let probesFromMs: number | null = null
  let isAnswering = false
  let reportedAtMs = now()
  const report = (change: BreakerChange): BreakerChange => {
    reportedAtMs = now()
    return change
  }
  const confirm = (to: 'still-degraded' | 'still-answering'): BreakerChange | null =>
    now() - reportedAtMs < confirmEveryMs ? null : report({ to })
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
      else if (admitted === 'request') return null
      else if (!isAnswered) return confirm('still-degraded')
      if (isAnswered && !isAnswering) {
        probesFromMs = null
        isAnswering = true
        return report({ to: 'answering' })
      }
      const unanswered = last.filter((each) => !each).length
      if (unanswered < unansweredMost) return isAnswered ? confirm('still-answering') : null
      probesFromMs = now() + restMs
      isAnswering = false
      last = []
      return report({ to: 'degraded', unanswered })
    },
    isOpen: () => probesFromMs !== null,
  }
}
