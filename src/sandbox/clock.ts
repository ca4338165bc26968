import { createHash } from 'node:crypto'
import { lastClockYear } from '../domain/calendar.ts'
import { validationFailed } from '../domain/problem.ts'
import type { CardContext } from '../operations/cards/cards.ts'
import { type Answer, once, type RepeatableRequest } from '../operations/idempotency/idempotency.ts'
import { expireHolds } from '../operations/payments/expiry.ts'
import { sweepDays } from '../operations/renewals/automatic.ts'
import { storeClockAhead } from '../storage/engine/installation.ts'

/** A clock that can be moved forward, to test an expiry. */
export interface MovableClock {
  now(): Date
  /**
   * @returns whether it was moved: never back.
   * @throws `Problem` `validation_failed` beyond its last year.
   */
  moveTo(instant: Date): boolean
  /** How far it is ahead of the machine's clock, in milliseconds; 0 if it was never moved. */
  aheadMs(): number
  /** Sets it, also back: only a restored snapshot does. */
  setAhead(ms: number): void
}

/** @param start its initial time; now, unless given. */
export function movableClock(start: Date | null): MovableClock {
  let offsetMs = start ? start.getTime() - Date.now() : 0
  const now = () => new Date(Date.now() + offsetMs)
  return {
    now,
    moveTo(instant) {
      if (instant < now()) return false
      refuseFarInstant(instant)
      offsetMs = instant.getTime() - Date.now()
      return true
    },
    aheadMs: () => offsetMs,
    setAhead(ms) {
      offsetMs = ms
    },
  }
}

function refuseFarInstant(instant: Date): void {
  if (instant.getUTCFullYear() <= lastClockYear) return
  const detail = `must not be after the year ${lastClockYear}`
  throw validationFailed({ pointer: '/now', detail })
}

/**
 * A clock whose moves execute due work: notices, renewals and expiries of cards in the order of
 * their days, and the expiry of holds.
 *
 * The clock is moved from day to day: background work meanwhile has the day whose turn it is. A
 * repeat of a move that failed goes on from the day that was reached. Moves take turns.
 */
export function sweepingClock(clock: MovableClock, context: CardContext, stop: AbortSignal) {
  let turn: Promise<unknown> = Promise.resolve()

  async function move(
    instant: Date,
    request: RepeatableRequest | null,
  ): Promise<Answer<{ readonly now: string }>> {
    const answer = await once(context, request, async () => {
      const now = clock.now()
      if (instant < now) {
        const detail = `must not be before ${now.toISOString()}`
        throw validationFailed({ pointer: '/now', detail })
      }
      refuseFarInstant(instant)
      return { now: instant.toISOString() }
    })
    try {
      await sweepDays(context, { from: clock.now(), to: instant }, clock.moveTo, stop)
    } finally {
      await storeClockAhead(context.database, clock.aheadMs())
    }
    await expireHolds(context, stop)
    return answer
  }

  return {
    now: clock.now,
    moveTo(
      instant: Date,
      request: RepeatableRequest | null,
    ): Promise<Answer<{ readonly now: string }>> {
      const moved = turn.then(() => move(instant, request))
      turn = moved.catch(() => undefined)
      return moved
    },
  }
}

/** The largest multiple of ten within a byte: larger bytes would favour low digits. */
const fairBytes = 250

/**
 * Returns repeatable digits for a seed: for tokens, PANs and PINs of a reproducible sandbox; never
 * for keys, secrets or nonces.
 */
export function seededDigits(seed: string): (count: number) => string {
  function* digits(): Generator<number, never> {
    for (let block = 0; ; block += 1) {
      const bytes = createHash('sha256').update(`${seed}\n${block}`).digest()
      for (const byte of bytes) if (byte < fairBytes) yield byte % 10
    }
  }
  const stream = digits()
  return (count) => Array.from({ length: count }, () => stream.next().value).join('')
}
