import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Problem } from '../../domain/problem.ts'
import type { KeyKind } from '../contract/catalogue.ts'
import { KeyRefusal, type WrappedKey } from '../contract/stored-keys.ts'
import type { TokenSettings } from './session.ts'
import type { TokenVerbs } from './verbs.ts'

/** A token in another process, which is restarted when needed. */
export interface Token {
  /** The check values of the keys that identify this token. Any of them is sufficient. */
  readonly checkValues: readonly string[]
  /**
   * @throws `Problem` `unavailable` if the token does not answer in time; Error if the request was
   *   invalid.
   */
  ask<Verb extends keyof TokenVerbs>(
    verb: Verb,
    ...given: Parameters<TokenVerbs[Verb]>
  ): Promise<ReturnType<TokenVerbs[Verb]>>
  /** Generates a slow key in a separate process, so that no request waits for it. */
  generateApart(kind: KeyKind, signal: AbortSignal | undefined): Promise<WrappedKey>
  close(): void
}

/** The maximum number of waiting requests. More would only time out. */
const waitingRequestsMax = 1_000
/** The minimum time between a failed start and the next one. */
const restartAfterMs = 250

/** @throws Error that says why the token cannot be used. */
export async function openToken(settings: TokenSettings): Promise<Token> {
  const first = await startTokenProcess(settings, null)
  const [checkValue = ''] = first.checkValues
  const { close, running } = keepRunning(first, () => startTokenProcess(settings, checkValue))
  let waiting = 0
  return {
    checkValues: first.checkValues,
    async ask(verb, ...given) {
      if (waiting >= waitingRequestsMax)
        throw tokenUnavailable('Too many requests wait for the token.')
      waiting += 1
      try {
        return await (await running()).ask(verb, given)
      } finally {
        waiting -= 1
      }
    },
    async generateApart(kind, signal) {
      const apart = await startTokenProcess(settings, checkValue).catch((cause: unknown) => {
        throw tokenUnavailable('The token does not answer.', cause)
      })
      signal?.addEventListener('abort', apart.kill, { once: true })
      // The caller may have given up while the process started.
      if (signal?.aborted) apart.kill()
      try {
        return await apart.ask('generate', [kind])
      } finally {
        signal?.removeEventListener('abort', apart.kill)
        apart.end()
      }
    },
    close,
  }
}

interface Running {
  running(): Promise<TokenProcess>
  close(): void
}

/** Keeps one process at a time, and starts another one when a request needs it. */
function keepRunning(first: TokenProcess, start: () => Promise<TokenProcess>): Running {
  let current: Promise<TokenProcess> | null = null
  let resting: { readonly problem: Problem; readonly until: number } | null = null
  const follow = (token: TokenProcess): TokenProcess => {
    void token.ended.then(() => {
      current = null
    })
    return token
  }
  const rest = (cause: unknown): never => {
    const problem = tokenUnavailable('The token does not answer.', cause)
    const restMs = cause instanceof FinalRefusal ? Infinity : restartAfterMs
    resting = { problem, until: performance.now() + restMs }
    current = null
    throw problem
  }
  current = Promise.resolve(follow(first))
  return {
    async running() {
      if (resting && performance.now() < resting.until) throw resting.problem
      current ??= start().then(follow, rest)
      return current
    },
    close() {
      resting = { problem: tokenUnavailable('The token was closed.'), until: Infinity }
      void current?.then((token) => token.end()).catch(() => undefined)
    },
  }
}

const tokenUnavailable = (detail: string, cause?: unknown): Problem =>
  new Problem('unavailable', { detail, cause })

/** The client side of a process with the token. */
interface TokenProcess {
  readonly checkValues: readonly string[]
  /** Resolves when the process is no longer usable. */
  readonly ended: Promise<void>
  ask<Verb extends keyof TokenVerbs>(
    verb: Verb,
    given: Parameters<TokenVerbs[Verb]>,
  ): Promise<ReturnType<TokenVerbs[Verb]>>
  end(): void
  /** Ends the process immediately, without waiting for a running call. */
  kill(): void
}

/** The token could not be opened, and a retry would be harmful. */
class FinalRefusal extends Error {}

/** Longer than the timeout of a verb: a busy machine may start processes slowly. */
const startTimeoutMs = 15_000
const askTimeoutMs = 5_000
/** RSA keys take long, and are generated where no request waits for them. */
const generateTimeoutMs = 600_000

/**
 * Starts a process and opens the token in it.
 * @param checkValue of a key that the token must have, or null.
 * @throws Error with the reason; FinalRefusal.
 */
async function startTokenProcess(
  settings: TokenSettings,
  checkValue: string | null,
): Promise<TokenProcess> {
  const child = fork(new URL('process.ts', import.meta.url), {
    execArgv: [],
    serialization: 'advanced',
    // Modules may print anything, and standard output belongs to the service.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const started = await firstAnswer(child, { settings, checkValue })
  // Callers wait with a timer, so an idle token process need not keep the service running.
  child.unref()
  child.channel?.unref()
  return { checkValues: started.checkValues, ...createRequests(child) }
}

async function firstAnswer(child: ChildProcess, start: Start) {
  const signal = AbortSignal.timeout(startTimeoutMs)
  const ended = once(child, 'exit', { signal }).then(() => [{ failure: 'Its process ended.' }])
  // Rejects if the message cannot be sent, which means that the process has ended.
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
  settle(answer: TokenAnswer | Problem): void
}

function createRequests(child: ChildProcess): Omit<TokenProcess, 'checkValues'> {
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  let answeredAt = 0
  // Not `once`, which also rejects: an error of the child only means that it ended.
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      // Before the answers, so that the next question of a caller goes to a new process.
      resolve()
      for (const each of waiting.values()) each.settle(unavailable('Its process ended.'))
    })
  })
  child.on('error', () => child.kill('SIGKILL'))
  child.on('message', (answer: TokenAnswer) => {
    answeredAt = performance.now()
    waiting.get(answer.id)?.settle(answer)
  })
  const timeOut = ({ sentAt, settle }: Waiting) => {
    settle(unavailable('It did not answer in time.'))
    // A process that still answers others is slow; one that answers none hangs in its module.
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
            if (answer instanceof Problem) reject(answer)
            else if ('answer' in answer)
              resolve(answer.answer as ReturnType<TokenVerbs[typeof verb]>)
            else reject(failures[answer.kind](answer.failure))
          },
        }
        waiting.set(id, entry)
        child.send({ id, verb, given }, (error) => {
          if (!error) return
          // The caller learns of it after the end, so that its next question starts a new process.
          child.kill('SIGKILL')
          void ended.then(() => entry.settle(unavailable('Its process does not accept messages.')))
        })
      })
    },
    end: () => child.connected && child.disconnect(),
    kill: () => child.kill('SIGKILL'),
  }
}

const failures: Record<FailureKind, (reason: string) => Error> = {
  refused: (reason) => new Error(reason),
  keyRefused: (reason) => new KeyRefusal(reason),
  unavailable: (reason) => unavailable(reason),
}

const unavailable = (reason: string): Problem =>
  new Problem('unavailable', { detail: 'The token did not answer.', cause: new Error(reason) })

/** The first message to the process that has the token. */
export interface Start {
  readonly settings: TokenSettings
  /** A key that the token must have; null before this installation knows its token. */
  readonly checkValue: string | null
}

/** The answer to the first message. */
export type Started =
  | { readonly checkValues: readonly string[] }
  /** `isFinal`: a retry would be harmful. */
  | { readonly failure: string; readonly isFinal: boolean }

/** Every other message to the process. */
export type TokenRequest = {
  [Verb in keyof TokenVerbs]: {
    readonly id: number
    readonly verb: Verb
    readonly given: Parameters<TokenVerbs[Verb]>
  }
}[keyof TokenVerbs]

/** The answer to a request. */
export type TokenAnswer =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly failure: string; readonly kind: FailureKind }

/**
 * `refused`: the request was invalid. `keyRefused`: a key is rejected, and the reason can be
 * stated. `unavailable`: the token did not execute the request.
 */
export type FailureKind = 'refused' | 'keyRefused' | 'unavailable'
