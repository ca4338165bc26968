/** Tests mutants in processes that stay: for rooms whose tests need a service, which takes seconds to begin. */
import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Instrumenter } from '@stryker-mutator/instrumenter'
import { temporary } from './run-stryker.ts'
import type { TestedMutant } from './tested-mutant.ts'
import type { WarmAnswer, WarmOrder, WarmQuestion, WarmUp } from './warm-program.ts'

const program = fileURLToPath(new URL('warm-program.ts', import.meta.url))
/** A mutant of a loop keeps its process busy for ever. A busy machine must not look like one. */
const timeoutMs = 900_000

const quiet = () => undefined
const log = {
  ...{ trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet, fatal: quiet },
  ...{ isTraceEnabled: () => false, isDebugEnabled: () => false, isInfoEnabled: () => false },
  ...{ isWarnEnabled: () => false, isErrorEnabled: () => false, isFatalEnabled: () => false },
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
const ask = async <Answer>(child: ChildProcess, what: object): Promise<Answer | null> => {
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), timeoutMs)
  child.once('exit', () => stop.abort())
  child.send(what)
  try {
    const [answer] = await once(child, 'message', { signal: stop.signal })
    return answer
  } catch {
    return null
  } finally {
    clearTimeout(timer)
  }
}

const start = (): ChildProcess => {
  mkdirSync(temporary, { recursive: true })
  return fork(program, {
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
  const first = await ask<WarmAnswer>(child, question)
  if (first?.isSound) return { answer: first, warm: null }
  child.kill('SIGKILL')
  const warm = await startAnew()
  if (!first) return { answer: first, warm }
  // What an earlier mutant left behind may have found it: in a fresh process it is itself.
  const answer = await ask<WarmAnswer>(warm.child, question)
  if (answer?.isSound) return { answer, warm }
  warm.child.kill('SIGKILL')
  return { answer, warm: await startAnew() }
}

/** Mutates files and tells of each mutant that was tested. */
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
  const tell = ({ id: _, ...mutant }: Mutant, answer: WarmAnswer | null): void =>
    tested({ ...mutant, isFound: answer?.isFound ?? true, isEndless: answer === null })
  const drawn = mutants.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1))
  const testFresh = async (): Promise<void> => {
    for (const mutant of drawn.filter(({ id }) => loaded.has(id))) {
      tell(mutant, await askFresh(mutant.id))
    }
  }
  const testWarm = async (): Promise<void> => {
    for (const mutant of drawn.filter(({ id }) => !loaded.has(id))) {
      const met = warm.up.met.filter(([, each]) => each.includes(mutant.id)).map(([test]) => test)
      const asked = await askWarm(warm, startWarm, { mutant: mutant.id, tests: met })
      warm = asked.warm ?? warm
      tell(mutant, asked.answer)
    }
    warm.child.kill('SIGKILL')
  }
  await Promise.all([testWarm(), testFresh()])
}

/** In an order of chance, the same each time: a run that is cut short is a sample. */
const placeOf = ({ id }: Mutant): string => createHash('sha256').update(id).digest('hex')
