import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Stryker } from '@stryker-mutator/core'
import type { Room } from './rooms.ts'
import { listener, type TestedMutant } from './tested-mutant.ts'

/** Of this run alone: another one may be under way. */
const sandboxes = `.stryker-tmp/${process.pid}`

/** What no test of a room reads, and a configuration that Stryker would want to read with its own compiler. */
const leftOut = [
  '.stryker-tmp',
  'tsconfig.json',
  'web',
  'docs',
  'examples',
  'bench',
  '.data',
  'artifacts',
  '*.tgz',
]

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
  listener.tested = tested
  // The runner starts `node`, once a mutant and test file: this one, with what it compiled before.
  process.env.PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'pinfold-mutants-compiled')
  process.env.PROPERTY_CASES ??= 'few'
  process.env.TEST_POSTGRES_LEFT_OUT ??= 'PostgreSQL leg left out: mutants are tested on PGlite'
  const running = new Stryker({
    mutate: [...mutate],
    testRunner: 'tap',
    tap: { testFiles: room.tests, nodeArgs: ['--test-reporter=tap'] },
    plugins: [
      '@stryker-mutator/tap-runner',
      fileURLToPath(new URL('tested-mutant.ts', import.meta.url)),
    ],
    reporters: ['telling'],
    coverageAnalysis: 'perTest',
    // Each test file runs in a process of its own, which meets the mutant from its start: what is
    // computed while a file loads is mutated like the rest.
    ignoreStatic: false,
    concurrency: 2,
    timeoutMS: 20_000,
    timeoutFactor: 3,
    ignorePatterns: leftOut,
    disableTypeChecks: false,
    tempDirName: sandboxes,
    logLevel: 'warn',
  } as ConstructorParameters<typeof Stryker>[0]).runMutationTest()
  const whole = running.then(() => true)
  if (deadlineMs === null) return whole
  const late = wait(Math.max(0, deadlineMs - Date.now()), false, { ref: false })
  const isDone = await Promise.race([whole, late])
  if (!isDone) running.catch(() => {})
  return isDone
}

export const removeSandboxes = (): Promise<void> => rm(sandboxes, { recursive: true, force: true })
