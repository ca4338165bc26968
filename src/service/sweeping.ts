import type { Logger } from 'pino'
import { tellLostBlocks } from '../authorizing/tell-lost-blocks.ts'
import type { Issuing } from '../issuing/issuing.ts'
import { sweep } from '../issuing/sweep.ts'
import { forgetUsedOnce } from './forget-used-once.ts'

const sweepIntervalMs = 30_000

/**
 * Sweeps now and then until it is stopped, which ends a sweep between two of its steps. A part that fails
 * is tried again at the next turn.
 */
export function startSweeping(issuing: Issuing, log: Logger): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const parts: readonly ((stop: AbortSignal) => Promise<unknown>)[] = [
    (stop) => sweep(issuing, stop),
    (stop) => tellLostBlocks(issuing, stop),
    (stop) => forgetUsedOnce(issuing.database, new Date(), stop),
  ]
  const sweepAll = async () => {
    for (const part of parts) {
      if (stopping.signal.aborted) return
      await part(stopping.signal).catch((err: unknown) => log.warn({ err }, 'a sweep failed'))
    }
  }
  let running = Promise.resolve()
  const turn = () => {
    running = running.then(sweepAll)
  }
  const timer = setInterval(turn, sweepIntervalMs)
  turn()
  return {
    stop() {
      clearInterval(timer)
      stopping.abort()
      return running
    },
  }
}
