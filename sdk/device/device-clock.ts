import { refuse } from './device-error.ts'

/** How a request tells whether an answer is of now. */
export interface DeviceClock {
  /** @throws DeviceError `wrong_time` unless an answer was made for this request, within its minute. */
  check(issuedAt: unknown, expiresAt: unknown): void
  /** The same for an answer that does not say when its minute ends. */
  checkIssued(issuedAt: unknown): void
}

/** Seconds that an answer is good for, from when it was made. */
const answerLifeSeconds = 60

/**
 * A clock that starts when the request is made.
 *
 * @param nowMs milliseconds since 1970, as `Date.now`.
 * @param toleranceSeconds how far the clocks of device and service may differ.
 */
export function startClock(nowMs: () => number, toleranceSeconds: number): DeviceClock {
  const startedAt = nowMs() / 1000
  const check: DeviceClock['check'] = (issuedAt, expiresAt) => {
    if (!isInstant(issuedAt) || !isInstant(expiresAt)) return refuse('wrong_time')
    const now = nowMs() / 1000
    const isNow =
      issuedAt <= now + toleranceSeconds &&
      now <= expiresAt + toleranceSeconds &&
      expiresAt - issuedAt <= answerLifeSeconds &&
      // The service tells whole seconds, so that its answer may seem made just before the request.
      issuedAt >= Math.floor(startedAt) - toleranceSeconds
    if (!isNow) refuse('wrong_time')
  }
  return {
    check,
    checkIssued: (issuedAt) => check(issuedAt, Number(issuedAt) + answerLifeSeconds),
  }
}

const isInstant = (value: unknown): value is number => Number.isSafeInteger(value)
