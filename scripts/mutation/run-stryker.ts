import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Room } from './rooms.ts'
import type { Order } from './stryker-program.ts'
import type { TestedMutant } from './tested-mutant.ts'

const program = fileURLToPath(new URL('stryker-program.ts', import.meta.url))
const project = fileURLToPath(new URL('../../', import.meta.url))

/** Everything that mutants and their tests write. Of this run alone: another one may be under way. */
const sandboxes = resolve(project, `.stryker-tmp/${process.pid}`)
export const temporary = resolve(sandboxes, 'temporary')

/** Ends what is under way. */
let stop = (): void => undefined

/**
 * Mutates files, or `file:from-to` lines, of a room and tells of each mutant that was tested.
 * @param deadlineMs when to stop, on the clock of `Date.now()`; null: when all are tested.
 * @returns whether all of them were tested by then.
 */
export const runStryker = async (
  room: Room,
  mutate: readonly string[],
  deadlineMs: number | null,
  tested: (mutant: TestedMutant) => void,
): Promise<boolean> => {
  await mkdir(temporary, { recursive: true })
  const env = {
    PROPERTY_CASES: 'few',
    TEST_POSTGRES_LEFT_OUT: 'PostgreSQL leg left out: it proves nothing of these mutants',
    ...process.env,
    // A test that is ended does not remove its files: they go with the sandboxes.
    TMPDIR: temporary,
    NODE_COMPILE_CACHE: resolve(temporary, 'compiled'),
  }
  // A group of its own, so that the tests of a mutant end with what started them.
  const stryker = fork(program, { cwd: project, detached: true, env })
  stryker.on('message', (mutant) => tested(mutant as TestedMutant))
  let isStopped = false
  stop = () => {
    isStopped = true
    endGroup(stryker)
  }
  // Unlike `exit`, it comes after the last message.
  const ended = once(stryker, 'close').then(([code]) => {
    stop = () => undefined
    if (isStopped) return false
    if (code !== 0) throw new Error(`Stryker ended with ${code}`)
    return true
  })
  const order: Order = { mutate, tests: room.tests, sandboxes }
  stryker.send(order)
  if (deadlineMs === null) return ended
  const late = wait(Math.max(0, deadlineMs - Date.now()), false, { ref: false })
  const isDone = await Promise.race([ended, late])
  if (!isDone) stop()
  return ended
}

const endGroup = ({ pid }: ChildProcess): void => {
  if (pid !== undefined) process.kill(-pid, 'SIGKILL')
}

/** What cannot be removed is told, and is no fault of the mutants. */
export const removeSandboxes = (): Promise<void> =>
  rm(sandboxes, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }).catch((error) =>
    console.log(`left behind: ${sandboxes}: ${error}`),
  )

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.once(signal, async () => {
    stop()
    await removeSandboxes()
    process.exit(code)
  })
}
