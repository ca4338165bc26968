/** `pinfold` as an operator types it: the launcher in a process of its own. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { atEndOfFile } from '../support/end-of-file.ts'
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

export const startPinfold = (
  env: Readonly<Record<string, string>>,
  words: readonly string[],
): Started => {
  const child = spawn(process.execPath, [launcher, ...words], {
    env: { ...bareEnvironment, ...env },
  })
  running.add(child)
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      texts[name] += chunk.toString()
    })
  }
  child.stdin.end()
  const ended = once(child, 'close').then(([code]) => {
    running.delete(child)
    return { code, ...texts }
  })
  return { child, stdout: () => texts.stdout, stderr: () => texts.stderr, ended }
}

/** Runs a command to its end. */
export const pinfold = (
  env: Readonly<Record<string, string>>,
  ...words: readonly string[]
): Promise<Ended> => startPinfold(env, words).ended
