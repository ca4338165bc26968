import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Problem } from '../../errors.ts'
import { KeyRefusal } from '../key-strength.ts'
import type { Answer, Start, Started } from './token-protocol.ts'
import type { TokenSettings } from './token-session.ts'
import type { TokenVerbs } from './token-verbs.ts'

/** A process that holds the token, from here. */
export interface TokenProcess {
  readonly checkValues: readonly string[]
  /** Resolves when there is no more to be had of it. */
  readonly ended: Promise<void>
  ask<Verb extends keyof TokenVerbs>(
    verb: Verb,
    given: Parameters<TokenVerbs[Verb]>,
  ): Promise<ReturnType<TokenVerbs[Verb]>>
  end(): void
  /** Ends it in the middle of whatever it does. */
  kill(): void
}

/** The token could not be opened, and trying again would do harm. */
export class FinalRefusal extends Error {}

/** Longer than a verb waits: a busy machine may take its time to start a process. */
const startTimeoutMs = 15_000
const askTimeoutMs = 5_000
/** RSA keys take long, and are made where nobody waits for them. */
const generateTimeoutMs = 600_000

/**
 * Starts a process and opens the token in it.
 * @param checkValue of a key that the token must have, or null.
 * @throws Error that says why not; FinalRefusal.
 */
export async function startTokenProcess(
  settings: TokenSettings,
  checkValue: string | null,
): Promise<TokenProcess> {
  const child = fork(new URL('token-process.ts', import.meta.url), {
    execArgv: [],
    serialization: 'advanced',
    // Modules print what they like, and standard output is the service's own.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const started = await firstAnswer(child, { settings, checkValue })
  // Whoever asks waits by a timer; a token that nobody asks must not keep the service from ending.
  child.unref()
  child.channel?.unref()
  return { checkValues: started.checkValues, ...questionsTo(child) }
}

async function firstAnswer(child: ChildProcess, start: Start) {
  const signal = AbortSignal.timeout(startTimeoutMs)
  const ended = once(child, 'exit', { signal }).then(() => [{ failure: 'Its process ended.' }])
  // Rejects when the message is not taken; the process has ended then.
  child.send(start, () => undefined)
  try {
    const [started] = (await Promise.race([once(child, 'message', { signal }), ended])) as [Started]
    if ('checkValues' in started) return started
    throw new (started.isFinal ? FinalRefusal : Error)(started.failure)
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  } finally {
    ended.catch(() => undefined)
  }
}

interface Waiting {
  readonly sentAt: number
  settle(answer: Answer | Problem): void
}

function questionsTo(child: ChildProcess): Omit<TokenProcess, 'checkValues'> {
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  let answeredAt = 0
  // Not `once`, which also rejects: an error of the child is no more than a reason to end it.
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      for (const each of waiting.values()) each.settle(unavailable('Its process ended.'))
      resolve()
    })
  })
  child.on('error', () => child.kill('SIGKILL'))
  child.on('message', (answer: Answer) => {
    answeredAt = performance.now()
    waiting.get(answer.id)?.settle(answer)
  })
  const timeOut = ({ sentAt, settle }: Waiting) => {
    settle(unavailable('It did not answer in time.'))
    // One that still answers others is slow; one that answers nobody hangs in its module.
    if (answeredAt < sentAt) child.kill('SIGKILL')
  }
  return {
    ended,
    ask(verb, given) {
      lastId += 1
      const id = lastId
      const limitMs = verb === 'generate' ? generateTimeoutMs : askTimeoutMs
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => timeOut(entry), limitMs)
        const entry: Waiting = {
          sentAt: performance.now(),
          settle(answer) {
            clearTimeout(timer)
            waiting.delete(id)
            if ('answer' in answer) resolve(answer.answer as ReturnType<TokenVerbs[typeof verb]>)
            else reject(failureOf(answer))
          },
        }
        waiting.set(id, entry)
        child.send({ id, verb, given }, (error) => {
          if (error) entry.settle(unavailable('Its process does not listen.'))
        })
      })
    },
    end: () => child.connected && child.disconnect(),
    kill: () => child.kill('SIGKILL'),
  }
}

const failureOf = (answer: Exclude<Answer, { answer: unknown }> | Problem): Error => {
  if (answer instanceof Problem) return answer
  const { failure, kind } = answer
  if (kind === 'keyRefused') return new KeyRefusal(failure)
  return kind === 'refused' ? new Error(failure) : unavailable(failure)
}

const unavailable = (reason: string): Problem =>
  new Problem('unavailable', { detail: 'The token gave no answer.', cause: new Error(reason) })
