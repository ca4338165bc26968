import type { Logger } from 'pino'
import { advanceKeys, followKeys } from '../key-management/advance-keys.ts'
import type { KeyManagement } from '../key-management/key-management.ts'
import { recordUses } from '../key-management/record-uses.ts'

/**
 * Follows the keys, and brings rotations on, until it is stopped. What fails is tried again at the
 * next turn; while the keys cannot be read for long, the HSM refuses by itself.
 */
export function startKeyKeeping(keys: KeyManagement, log: Logger): { stop(): Promise<void> } {
  let isStopped = false
  const uses = recordUses(keys)
  const repeat = async (turn: () => Promise<void>, failure: string) => {
    while (!isStopped) {
      await turn().catch((err: unknown) => log.warn({ err }, failure))
      await rest()
    }
  }
  let wake = (): void => undefined
  const resting = new Promise<void>((resolve) => {
    wake = resolve
  })
  const rest = () => {
    let timer: NodeJS.Timeout | undefined
    const due = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, keys.timings.refreshMs)
    })
    return Promise.race([due, resting]).finally(() => clearTimeout(timer))
  }
  const running = Promise.all([
    repeat(() => followKeys(keys), 'the keys could not be read'),
    repeat(uses.setAside, 'the uses of keys could not be put on record'),
    // A pass may take long: it must not keep this process from following.
    repeat(() => advanceKeys(keys, () => isStopped), 'a rotation could not go on'),
  ])
  return {
    async stop() {
      isStopped = true
      wake()
      await running
      await uses.giveBack().catch((err: unknown) => log.warn({ err }, 'uses of keys are lost'))
    },
  }
}
