import { lastClockYear } from '../domain/calendar.ts'
import { validationFailed } from '../errors.ts'

/** A clock that can be moved forward, so that an expiry can be tried today. */
export interface MovableClock {
  now(): Date
  /**
   * @returns whether it could be moved: never back.
   * @throws `Problem` `validation_failed` past the last year that it runs to.
   */
  moveTo(instant: Date): boolean
}

/** @param start where it begins to run; now, unless given. */
export function movableClock(start: Date | null): MovableClock {
  let offsetMs = start ? start.getTime() - Date.now() : 0
  const now = () => new Date(Date.now() + offsetMs)
  return {
    now,
    moveTo(instant) {
      if (instant < now()) return false
      if (instant.getUTCFullYear() > lastClockYear) {
        throw validationFailed({
          pointer: '/now',
          detail: `must not be after the year ${lastClockYear}`,
        })
      }
      offsetMs = instant.getTime() - Date.now()
      return true
    },
  }
}
