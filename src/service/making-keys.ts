import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Hsm } from '../hsm/hsm.ts'

const retryMs = 5_000

/**
 * Makes the keys that take long to make, beside everything else, until they are there or it is
 * stopped. Where several processes start at once, the first one's are kept.
 */
export function startMakingKeys(hsm: Hsm, log: Logger): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const running = makeUntilThere(hsm, log, signal).catch(() => undefined)
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** @throws AbortError when it is stopped. */
async function makeUntilThere(hsm: Hsm, log: Logger, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await hsm.generateCardDataKeys(signal)
      return
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, 'keys could not be made')
    }
    await wait(retryMs, undefined, { signal })
  }
}
