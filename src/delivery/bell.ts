/** Tells one who waits that there may be something to do. */
export interface Bell {
  ring(): void
  /** Resolves when it rings, at once if it rang since the last time, and after so long in any case. */
  rung(timeoutMs: number): Promise<void>
}

export function createBell(): Bell {
  let hasRung = false
  let wake: (() => void) | null = null
  return {
    ring() {
      hasRung = true
      wake?.()
    },
    rung: (timeoutMs) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => wake?.(), hasRung ? 0 : timeoutMs)
        wake = () => {
          clearTimeout(timer)
          hasRung = false
          wake = null
          resolve()
        }
      }),
  }
}
