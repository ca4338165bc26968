/**
 * Stryker, in a program of its own that leads a process group: whoever started it can end it and all
 * that it started at once. Is sent one {@link Order}, and sends each mutant that was tested.
 */
import { once } from 'node:events'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Stryker } from '@stryker-mutator/core'
import { listener } from './tested-mutant.ts'

export type Order = {
  /** Files, or `file:from-to` lines. */
  readonly mutate: readonly string[]
  readonly tests: readonly string[]
  /** Where the sandboxes go, below the folder of the project. */
  readonly sandboxes: string
}

/** What no test of a room reads, and a configuration that Stryker would want to read with its own compiler. */
const leftOut = [
  '.stryker-tmp',
  'tsconfig.json',
  'web/tsconfig.json',
  'docs',
  'examples',
  'bench',
  '.data',
  'artifacts',
  '*.tgz',
]

const optionsOf = ({ mutate, sandboxes, tests }: Order): object => ({
  mutate,
  testRunner: 'tap',
  tap: { testFiles: tests, nodeArgs: ['--test-reporter=tap'] },
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
})

// Nobody is left who would end this group, or wants to know of its mutants.
process.once('disconnect', () => process.kill(-process.pid, 'SIGKILL'))
listener.tested = (mutant) => process.send?.(mutant)
// The runner starts `node`, once a mutant and test file: this one.
process.env.PATH = `${dirname(process.execPath)}:${process.env.PATH}`
const [order] = await once(process, 'message')
await new Stryker(optionsOf(order) as ConstructorParameters<typeof Stryker>[0]).runMutationTest()
process.removeAllListeners('disconnect')
process.disconnect()
