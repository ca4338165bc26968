import { setTimeout as sleep } from 'node:timers/promises'

/** Returns the result of a read, or null if it fails or exceeds the time limit. */
export function readWithin<Value>(ms: number, read: () => Promise<Value>): Promise<Value | null> {
  const late = sleep(ms, null, { ref: false })
  return Promise.race([read().catch(() => null), late])
}
