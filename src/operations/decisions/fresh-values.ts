/** Values that are read again while they are used, and that are at most a second old. */
export interface FreshValues<Value> {
  find(key: string): Promise<Value>
  /** Forgets all values, also those that are being read. */
  forget(): void
}

interface KnownValue<Value> {
  readonly value: Value
  /** When its reading began, on the clock of `performance`. */
  readonly sinceMs: number
}

const oldestMs = 1_000
/** From this age on, a use reads the value again without waiting for it. */
const readAgainMs = 500
const valuesMax = 10_000

/**
 * Keeps the values that a function reads. A value in use is read again before it is too old, so
 * that no use waits for it.
 */
export function createFreshValues<Value>(
  read: (key: string) => Promise<Value>,
): FreshValues<Value> {
  let known = new Map<string, KnownValue<Value>>()
  let reading = new Map<string, Promise<Value>>()

  function readAgain(key: string): Promise<Value> {
    const running = reading.get(key)
    if (running) return running
    const values = known
    const readings = reading
    const sinceMs = performance.now()
    const started = read(key)
      .then((value) => {
        values.delete(key)
        values.set(key, { value, sinceMs })
        const [oldest] = values.keys()
        if (values.size > valuesMax && oldest !== undefined) values.delete(oldest)
        return value
      })
      .finally(() => readings.delete(key))
    reading.set(key, started)
    return started
  }

  return {
    async find(key) {
      const found = known.get(key)
      const ageMs = found ? performance.now() - found.sinceMs : Number.POSITIVE_INFINITY
      if (!found || ageMs > oldestMs) return readAgain(key)
      // If this reading fails, a later use reads it and reports the failure.
      if (ageMs > readAgainMs) readAgain(key).catch(() => {})
      return found.value
    },
    forget() {
      known = new Map()
      reading = new Map()
    },
  }
}
