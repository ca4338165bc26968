import type { Logger } from 'pino'
import { tellLostBlocks } from '../authorizing/tell-lost-blocks.ts'
import type { Issuing } from '../issuing/issuing.ts'
import { sweep } from '../issuing/sweep.ts'
import { forgetUsedOnce } from './forget-used-once.ts'

const sweepIntervalMs = 30_000

/** Sweeps now and then until it is stopped. A sweep that fails is tried again at the next turn. */
export function startSweeping(issuing: Issuing, log: Logger): { stop(): Promise<void> } {
  let running = Promise.resolve()
  const turn = () => {
    running = running
      .then(async () => {
        await sweep(issuing)
        await tellLostBlocks(issuing)
        await forgetUsedOnce(issuing.database, new Date())
      })
      .catch((err: unknown) => log.warn({ err }, 'a sweep failed'))
  }
  const timer = setInterval(turn, sweepIntervalMs)
  turn()
  return {
    stop() {
      clearInterval(timer)
      return running
    },
  }
}
