/** A countdown that runs. */
export interface Countdown {
  stop(): void
}

/**
 * Counts whole seconds down to the end.
 *
 * By a clock that nobody sets: a timer that was held up (a laptop asleep) ends at once when it wakes.
 */
export function startCountdown(
  seconds: number,
  onSecond: (secondsLeft: number) => void,
  onEnd: () => void,
): Countdown {
  const endMs = performance.now() + seconds * 1_000
  let timer: ReturnType<typeof setTimeout>
  const turn = () => {
    const leftMs = endMs - performance.now()
    if (leftMs <= 0) return onEnd()
    onSecond(Math.ceil(leftMs / 1_000))
    timer = setTimeout(turn, leftMs % 1_000 || 1_000)
  }
  turn()
  return { stop: () => clearTimeout(timer) }
}
