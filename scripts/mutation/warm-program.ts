/**
 * Runs the tests of a room in one process, again for each mutant: the code has all of them in it, and a
 * switch. Is sent one {@link WarmOrder}, answers with {@link WarmUp} once every test has passed, and then
 * answers each {@link WarmQuestion}. A mutant that is met while a file loads needs a process of its own.
 */
import { once } from 'node:events'
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { beginFile, collected, runTest, standIn, type WarmTest } from './warm-tests.ts'

export type WarmOrder = {
  /** By path: the code with every mutant in it. */
  readonly instrumented: Readonly<Record<string, string>>
  readonly tests: readonly string[]
  /** A mutant that is there from the start; null: none. */
  readonly mutant: string | null
}

export type WarmUp = {
  /** Mutants that were met while files loaded. */
  readonly loaded: readonly string[]
  /** By test, the quickest first: the mutants that it met. */
  readonly met: readonly (readonly [test: string, mutants: readonly string[]])[]
}

export type WarmQuestion = { readonly mutant: string; readonly tests: readonly string[] }

/** `isSound`: the test that found the mutant passes without it. */
export type WarmAnswer = { readonly isFound: boolean; readonly isSound: boolean }

type Coverage = Readonly<Record<string, number>>
type Switch = {
  activeMutant: string | undefined
  currentTestId: string | undefined
  mutantCoverage: { static: Coverage; perTest: Record<string, Coverage> }
}

/** Read and written by the instrumented code. */
const state: Switch = {
  activeMutant: undefined,
  currentTestId: undefined,
  mutantCoverage: { static: {}, perTest: {} },
}
Object.assign(globalThis, { __stryker__: state, warmTests: standIn })

const standInSource = `export const { after, before, beforeEach, suite, test } = globalThis.warmTests`

const hook = ({ instrumented }: WarmOrder): void => {
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'node:test'
        ? { url: 'warm:test', shortCircuit: true }
        : next(specifier, context),
    load: (url, context, next) => {
      if (url === 'warm:test') {
        return { format: 'module', source: standInSource, shortCircuit: true }
      }
      const source = url.startsWith('file:') && instrumented[fileURLToPath(url)]
      return source ? { ...next(url, context), source } : next(url, context)
    },
  })
}

/** @returns the tests of a file. */
const load = async (file: string): Promise<readonly WarmTest[]> => {
  const from = collected.length
  beginFile()
  await import(pathToFileURL(resolve(file)).href)
  return collected.slice(from)
}

const passes = async (test: WarmTest): Promise<boolean> => {
  try {
    await runTest(test)
    return true
  } catch {
    return false
  }
}

const isFoundFromStart = async (files: readonly string[]): Promise<boolean> => {
  try {
    for (const file of files) {
      for (const test of await load(file)) if (!(await passes(test))) return true
    }
    return false
  } catch {
    return true
  }
}

const warmUp = async (files: readonly string[]): Promise<WarmUp> => {
  const timed: { id: string; tookMs: number }[] = []
  for (const file of files) await load(file)
  const loaded = Object.keys(state.mutantCoverage.static)
  for (const test of collected) {
    state.currentTestId = test.id
    const startedMs = performance.now()
    await runTest(test)
    timed.push({ id: test.id, tookMs: performance.now() - startedMs })
  }
  timed.sort((one, other) => one.tookMs - other.tookMs)
  const metBy = (id: string) => Object.keys(state.mutantCoverage.perTest[id] ?? {})
  return { loaded, met: timed.map(({ id }) => [id, metBy(id)] as const) }
}

const answer = async ({ mutant, tests }: WarmQuestion): Promise<WarmAnswer> => {
  for (const id of tests) {
    const test = collected[Number(id)]
    if (!test) throw new Error(`There is no test ${id}.`)
    state.activeMutant = mutant
    const isFound = !(await passes(test))
    state.activeMutant = undefined
    if (isFound) return { isFound, isSound: await passes(test) }
  }
  return { isFound: false, isSound: true }
}

process.once('disconnect', () => process.exit())
const [order] = (await once(process, 'message')) as [WarmOrder]
hook(order)
if (order.mutant !== null) {
  state.activeMutant = order.mutant
  process.send?.({ isFound: await isFoundFromStart(order.tests), isSound: true })
} else {
  const up = await warmUp(order.tests)
  process.on('message', async (question: WarmQuestion) => process.send?.(await answer(question)))
  process.send?.(up)
}
