/** Tests mutants: by Stryker, in a process for each mutant and test file, or in processes that stay. */
import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Instrumenter } from '@stryker-mutator/instrumenter'
import type { Room } from './rooms.ts'
import type { Order } from './stryker-program.ts'
import type { TestedMutant } from './tested-mutant.ts'
import type { WarmAnswer, WarmOrder, WarmQuestion, WarmUp } from './warm-program.ts'

const strykerProgram = fileURLToPath(new URL('stryker-program.ts', import.meta.url))
const project = fileURLToPath(new URL('../../', import.meta.url))

/** Everything that mutants and their tests write. Of this run alone: another one may be under way. */
const sandboxes = resolve(project, `.stryker-tmp/${process.pid}`)
const temporary = resolve(sandboxes, 'temporary')

/** Ends what is under way. */
let stop = (): void => undefined

/**
 * Mutates files, or `file:from-to` lines, of a room and reports each mutant that was tested.
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
  const stryker = fork(strykerProgram, { cwd: project, detached: true, env })
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

/** What cannot be removed is reported, and is no fault of the mutants. */
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

const warmProgram = fileURLToPath(new URL('warm-program.ts', import.meta.url))
/** A mutant of a loop keeps its process busy for ever. A busy machine must not look like one. */
const startTimeoutMs = 900_000

const quiet = () => undefined
const log = {
  trace: quiet,
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: quiet,
  fatal: quiet,
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
}

type Mutant = Omit<TestedMutant, 'isFound' | 'isEndless'> & { readonly id: string }
type Instrumented = {
  readonly mutants: readonly Mutant[]
  readonly code: WarmOrder['instrumented']
}

const instrument = async (paths: readonly string[]): Promise<Instrumented> => {
  const files = paths.map((file) => ({
    name: resolve(file),
    mutate: true,
    content: readFileSync(file, 'utf8'),
  }))
  const options = { plugins: null, excludedMutations: [], ignorers: [] }
  const { files: written, mutants } = await new Instrumenter(log).instrument(files, options)
  return {
    code: Object.fromEntries(written.map(({ content, name }) => [name, content])),
    mutants: mutants.map(({ fileName, id, location, mutatorName, replacement }) => ({
      id,
      file: relative('.', fileName),
      line: location.start.line + 1,
      column: location.start.column + 1,
      mutator: mutatorName,
      replacement: replacement ?? '',
    })),
  }
}

/** Sends something and waits for the answer; null: none came in time, or the process ended. */
const ask = async <Answer>(
  child: ChildProcess,
  what: object,
  timeoutMs = startTimeoutMs,
): Promise<Answer | null> => {
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), timeoutMs)
  const end = () => stop.abort()
  child.once('exit', end)
  child.send(what)
  try {
    const [answer] = await once(child, 'message', { signal: stop.signal })
    return answer
  } catch {
    return null
  } finally {
    clearTimeout(timer)
    child.off('exit', end)
  }
}

const start = (): ChildProcess => {
  mkdirSync(temporary, { recursive: true })
  return fork(warmProgram, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      PROPERTY_CASES: 'few',
      TEST_PGLITE_LEFT_OUT: 'PGlite leg left out: mutants are tested on PostgreSQL',
      ...process.env,
      TMPDIR: temporary,
      NODE_COMPILE_CACHE: resolve(temporary, 'compiled'),
    },
  })
}

type Warm = { readonly child: ChildProcess; readonly up: WarmUp }
type Start = () => Promise<Warm>

/**
 * Asks in the process that stays.
 * @returns the answer, and the process that stays from now on.
 */
const askWarm = async (
  { child }: Warm,
  startAnew: Start,
  question: WarmQuestion,
): Promise<{ answer: WarmAnswer | null; warm: Warm | null }> => {
  // Each test may run into its own, and is then run once more without the mutant.
  const timeoutMs = question.tests.reduce((sum, test) => sum + 2 * test.timeoutMs, 0)
  const first = await ask<WarmAnswer>(child, question, timeoutMs)
  if (first?.isSound) return { answer: first, warm: null }
  child.kill('SIGKILL')
  const warm = await startAnew()
  if (!first) return { answer: first, warm }
  // What an earlier mutant left behind may have found it: in a fresh process it is itself.
  const answer = await ask<WarmAnswer>(warm.child, question, timeoutMs)
  if (answer?.isSound) return { answer, warm }
  warm.child.kill('SIGKILL')
  return { answer, warm: await startAnew() }
}

/**
 * Mutates files and reports each mutant that was tested, in processes that stay: for rooms whose tests need a
 * service, which takes seconds to begin.
 */
export const runWarm = async (
  files: readonly string[],
  tests: readonly string[],
  tested: (mutant: TestedMutant) => void,
): Promise<void> => {
  const { code, mutants } = await instrument(files)
  const order: WarmOrder = { instrumented: code, tests, mutant: null }
  const startWarm: Start = async () => {
    const child = start()
    const up = await ask<WarmUp>(child, order)
    if (!up) throw new Error('The tests do not pass by themselves.')
    return { child, up }
  }
  /** In a process that has met no other one. */
  const askFresh = async (mutant: string): Promise<WarmAnswer | null> => {
    const child = start()
    const answer = await ask<WarmAnswer>(child, { ...order, mutant })
    child.kill('SIGKILL')
    return answer
  }
  let warm = await startWarm()
  const loaded = new Set(warm.up.loaded)
  const report = ({ id: _, ...mutant }: Mutant, answer: WarmAnswer | null): void =>
    tested({ ...mutant, isFound: answer?.isFound ?? true, isEndless: answer === null })
  console.log(`${mutants.length} mutants, ${loaded.size} of them in a process each`)
  const drawn = mutants.toSorted((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1))
  const testFresh = async (): Promise<void> => {
    for (const mutant of drawn.filter(({ id }) => loaded.has(id))) {
      report(mutant, await askFresh(mutant.id))
    }
  }
  const testWarm = async (): Promise<void> => {
    for (const mutant of drawn.filter(({ id }) => !loaded.has(id))) {
      const met = warm.up.met.filter(({ mutants }) => mutants.includes(mutant.id))
      const tests = met.map(({ test, timeoutMs }) => ({ test, timeoutMs }))
      const asked = await askWarm(warm, startWarm, { mutant: mutant.id, tests })
      warm = asked.warm ?? warm
      report(mutant, asked.answer)
    }
    warm.child.kill('SIGKILL')
  }
  await Promise.all([testWarm(), testFresh()])
}

/** In an order of chance, the same each time: a run that is cut short is a sample. */
const orderOf = ({ id }: Mutant): string => createHash('sha256').update(id).digest('hex')
