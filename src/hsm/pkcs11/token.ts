import { Problem } from '../../errors.ts'
import type { GeneratedKey } from '../key-engine.ts'
import type { KeyKind } from '../key-table.ts'
import { FinalRefusal, startTokenProcess, type TokenProcess } from './token-client.ts'
import type { TokenSettings } from './token-session.ts'
import type { TokenVerbs } from './token-verbs.ts'

/** A token that is asked from here and lives in a process of its own, which is begun anew at need. */
export interface Token {
  /** Of the keys that tell this token from others, each of them as good. */
  readonly checkValues: readonly string[]
  /**
   * @throws `Problem` `unavailable` when the token gives no answer in time; Error when what was asked
   *   was wrong.
   */
  ask<Verb extends keyof TokenVerbs>(
    verb: Verb,
    ...given: Parameters<TokenVerbs[Verb]>
  ): Promise<ReturnType<TokenVerbs[Verb]>>
  /** Makes a key that takes long, in a process of its own, so that nobody waits behind it. */
  generateApart(kind: KeyKind, signal: AbortSignal | undefined): Promise<GeneratedKey>
  close(): void
}

/** Questions that may wait at once: beyond them waiting would only end in a time-out. */
const questionsMax = 1_000
/** How long after a failed start the next one may be tried. */
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
      if (waiting >= questionsMax) throw unavailable('Too many questions wait for the token.')
      waiting += 1
      try {
        return await (await running()).ask(verb, given)
      } finally {
        waiting -= 1
      }
    },
    async generateApart(kind, signal) {
      const apart = await startTokenProcess(settings, checkValue).catch((cause: unknown) => {
        throw unavailable('The token is away.', cause)
      })
      signal?.addEventListener('abort', apart.kill, { once: true })
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

/** One process at a time, and after its end another as soon as one is asked for. */
function keepRunning(first: TokenProcess, start: () => Promise<TokenProcess>): Running {
  let current: Promise<TokenProcess> | null = null
  let resting: { readonly problem: Problem; readonly until: number } | null = null
  const keep = (token: TokenProcess): TokenProcess => {
    void token.ended.then(() => {
      current = null
    })
    return token
  }
  const rest = (cause: unknown): never => {
    const problem = unavailable('The token is away.', cause)
    const restMs = cause instanceof FinalRefusal ? Infinity : restartAfterMs
    resting = { problem, until: performance.now() + restMs }
    current = null
    throw problem
  }
  current = Promise.resolve(keep(first))
  return {
    async running() {
      if (resting && performance.now() < resting.until) throw resting.problem
      current ??= start().then(keep, rest)
      return current
    },
    close() {
      resting = { problem: unavailable('The token was closed.'), until: Infinity }
      void current?.then((token) => token.end()).catch(() => undefined)
    },
  }
}

const unavailable = (detail: string, cause?: unknown): Problem =>
  new Problem('unavailable', { detail, cause })
