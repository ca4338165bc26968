import { setTimeout as sleep } from 'node:timers/promises'

/** How work ends: first nothing more is begun, then what still runs is cut off. */
export interface Stopping {
  readonly stop: AbortSignal
  readonly cut: AbortSignal
}

/** Waits, but no longer than until it is stopped. */
export async function pause(milliseconds: number, stop: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal: stop }).catch(() => undefined)
}
