/**
 * Runs the tests of a room in one process, again for each mutant: the code has all of them in it, and a
 * switch. Is sent one {@link WarmOrder}, answers with {@link WarmUp} once every test has passed, and then
 * answers each {@link WarmQuestion}. A mutant that is met while a file loads needs a process of its own.
 */
import { once } from 'node:events'
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

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
  /** The quickest first: a test, the mutants that it met, and how long it may take with one of them. */
  readonly met: readonly WarmedTest[]
}

type WarmedTest = {
  readonly test: string
  readonly mutants: readonly string[]
  readonly timeoutMs: number
}

export type WarmQuestion = {
  readonly mutant: string
  readonly tests: readonly Pick<WarmedTest, 'test' | 'timeoutMs'>[]
}

/** `isSound`: the test that found the mutant passes without it. */
export type WarmAnswer = { readonly isFound: boolean; readonly isSound: boolean }

type Body = (context: object) => unknown
type Options = { readonly skip?: unknown }
type Suite = { readonly before: Body[]; readonly beforeEach: Body[]; isReady: boolean }

type WarmTest = {
  readonly id: string
  readonly title: string
  readonly suites: readonly Suite[]
  readonly body: Body
}

/** Longer than any of them takes the first time on a machine with much other work. */
const firstTimeoutMs = 120_000

const collected: WarmTest[] = []

const newSuite = (): Suite => ({ before: [], beforeEach: [], isReady: false })
let suites: readonly Suite[] = [newSuite()]

/** What a file declares outside of its suites is of that file alone. */
const beginFile = (): void => {
  suites = [newSuite()]
}

const optionsOf = (given: readonly unknown[]): Options =>
  given.find((each): each is Options => typeof each === 'object' && each !== null) ?? {}
const bodyOf = (given: readonly unknown[]): Body =>
  given.find((each): each is Body => typeof each === 'function') ?? (() => undefined)

/**
 * What a test file imports in the place of `node:test`: what it declares is kept, what runs before a suite runs
 * once, and each test can be asked for by itself.
 */
const standIn = {
  test: (title: string, ...given: readonly unknown[]): void => {
    if (optionsOf(given).skip) return
    collected.push({ id: `${collected.length}`, title, suites, body: bodyOf(given) })
  },
  suite: (_title: string, ...given: readonly unknown[]): void => {
    if (optionsOf(given).skip) return
    const outer = suites
    suites = [...outer, newSuite()]
    bodyOf(given)({})
    suites = outer
  },
  before: (body: Body): unknown => suites.at(-1)?.before.push(body),
  beforeEach: (body: Body): unknown => suites.at(-1)?.beforeEach.push(body),
  // The process goes on; what is open goes with it.
  after: (): void => undefined,
}

/** What goes wrong where nobody waits for it is a fault of the test that runs. */
let failTest: (error: unknown) => void = () => undefined
process.on('uncaughtException', (error) => failTest(error))

/** @throws what the test throws, or that it did not end. */
const runTest = async (test: WarmTest, timeoutMs = firstTimeoutMs): Promise<void> => {
  const cleanups: (() => unknown)[] = []
  const context = {
    after: (body: () => unknown) => cleanups.push(body),
    diagnostic: () => undefined,
  }
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failTest = reject
  const timer = setTimeout(() => reject(new Error('The test does not end.')), timeoutMs)
  try {
    await Promise.race([runWithin(test, context), failed])
  } finally {
    clearTimeout(timer)
    failTest = () => undefined
    for (const cleanup of cleanups) await cleanup()
  }
}

const runWithin = async ({ body, suites }: WarmTest, context: object): Promise<void> => {
  for (const suite of suites) {
    if (!suite.isReady) for (const before of suite.before) await before(context)
    suite.isReady = true
  }
  for (const { beforeEach } of suites) for (const each of beforeEach) await each(context)
  await body(context)
}

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

const passes = async (test: WarmTest, timeoutMs?: number): Promise<boolean> => {
  try {
    await runTest(test, timeoutMs)
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
  // A mutant that makes a test wait for ever is found by that: well after the time that the test takes.
  const met = timed.map(({ id, tookMs }) => ({
    test: id,
    mutants: metBy(id),
    timeoutMs: 10_000 + 10 * tookMs,
  }))
  return { loaded, met }
}

const answer = async ({ mutant, tests }: WarmQuestion): Promise<WarmAnswer> => {
  for (const { test: id, timeoutMs } of tests) {
    const test = collected[Number(id)]
    if (!test) throw new Error(`There is no test ${id}.`)
    state.activeMutant = mutant
    const isFound = !(await passes(test, timeoutMs))
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
  const up = await warmUp(order.tests).catch((error: unknown) => {
    // Nobody waits a quarter of an hour for what cannot come.
    console.error(error)
    process.exit(1)
  })
  process.on('message', async (question: WarmQuestion) => process.send?.(await answer(question)))
  process.send?.(up)
}
