/**
 * Stands in for `node:test` where the tests of a file are run again and again in one process: what they
 * declare is kept, what runs before a suite runs once, and each test can be asked for by itself.
 */
type Body = (context: object) => unknown
type Options = { readonly skip?: unknown }
type Suite = { readonly before: Body[]; readonly beforeEach: Body[]; isReady: boolean }

export type WarmTest = {
  readonly id: string
  readonly title: string
  readonly suites: readonly Suite[]
  readonly body: Body
}

/** Longer than any of them takes on a machine with much other work. */
const timeoutMs = 120_000

export const collected: WarmTest[] = []

const newSuite = (): Suite => ({ before: [], beforeEach: [], isReady: false })
let suites: readonly Suite[] = [newSuite()]

/** What a file declares outside of its suites is of that file alone. */
export const beginFile = (): void => {
  suites = [newSuite()]
}

const optionsOf = (given: readonly unknown[]): Options =>
  given.find((each): each is Options => typeof each === 'object' && each !== null) ?? {}
const bodyOf = (given: readonly unknown[]): Body =>
  given.find((each): each is Body => typeof each === 'function') ?? (() => undefined)

/** What a test file imports in the place of `node:test`. */
export const standIn = {
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
export const runTest = async (test: WarmTest): Promise<void> => {
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
