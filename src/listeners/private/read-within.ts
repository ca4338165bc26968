import { setTimeout as sleep } from 'node:timers/promises'

/** What a read gives; null where it fails, or has not ended within so many milliseconds. */
export function readWithin<Value>(ms: number, read: () => Promise<Value>): Promise<Value | null> {
  const late = sleep(ms, null, { ref: false })
  return Promise.race([read().catch(() => null), late])
}
