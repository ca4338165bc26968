/** `pinfold` as an operator types it: the launcher in a process of its own. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { format } from 'node:util'
import { runPinfold } from '../../src/cli/pinfold.ts'
import { atEndOfFile } from '../support/end-of-file.ts'
import { shortLived } from '../support/node-flags.ts'
import { bareEnvironment } from '../support/process.ts'

const launcher = fileURLToPath(new URL('../../bin/pinfold.mjs', import.meta.url))
const running = new Set<ChildProcessWithoutNullStreams>()

atEndOfFile(() => {
  for (const child of running) child.kill('SIGKILL')
})

export type Ended = { code: number | null; stdout: string; stderr: string }

export type Started = {
  child: ChildProcessWithoutNullStreams
  stdout: () => string
  stderr: () => string
  ended: Promise<Ended>
}

/** Starts the launcher, or another file in its place; `input` comes through a pipe. */
export const startPinfold = (
  env: Readonly<Record<string, string>>,
  words: readonly string[],
  { cwd = process.cwd(), file = launcher, input = '' } = {},
): Started => {
  const child = spawn(process.execPath, [...shortLived, file, ...words], {
    cwd,
    env: { ...bareEnvironment, ...env },
  })
  running.add(child)
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      texts[name] += chunk.toString()
    })
  }
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const ended = once(child, 'close').then(([code]) => {
    running.delete(child)
    return { code, ...texts }
  })
  return { child, stdout: () => texts.stdout, stderr: () => texts.stderr, ended }
}

/** Runs a command to the end of a process of its own. */
export const launchPinfold = (
  env: Readonly<Record<string, string>>,
  ...words: readonly string[]
): Promise<Ended> => startPinfold(env, words).ended

/**
 * Runs a command in this process: what it prints, and the exit code that the launcher ends with.
 * One at a time, since a process has one environment and one console.
 */
export const pinfold = async (
  env: Readonly<Record<string, string>>,
  ...words: readonly string[]
): Promise<Ended> => {
  const { error, log } = console
  const { env: own } = process
  if (own === runningEnvironment) throw new Error('A command runs already.')
  const texts = { stdout: '', stderr: '' }
  runningEnvironment = { ...bareEnvironment, ...env }
  process.env = runningEnvironment
  console.log = (...parts) => {
    texts.stdout += `${format(...parts)}\n`
  }
  console.error = (...parts) => {
    texts.stderr += `${format(...parts)}\n`
  }
  try {
    return { code: await runPinfold(words), ...texts }
  } finally {
    Object.assign(console, { error, log })
    process.env = own
  }
}

let runningEnvironment: NodeJS.ProcessEnv | undefined
