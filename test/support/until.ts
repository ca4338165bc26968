import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'

/**
 * Waits until a condition holds. Fails after two minutes, which a busy machine does not need.
 *
 * ```ts
 * await until(() => receiver.received.length === 2)
 * ```
 */
export async function until(
  holds: () => boolean | Promise<boolean>,
  timeoutMs = 120_000,
): Promise<void> {
  const endMs = performance.now() + timeoutMs
  while (!(await holds())) {
    assert.ok(performance.now() < endMs, `The condition did not come to hold: ${holds}`)
    await wait(20)
  }
}
