import type { Settings } from '../options.ts'
import { repeat } from '../transport/repeat.ts'
import { askToken, findTokenEndpoint, type Token } from './token-endpoint.ts'

export interface TokenSource {
  /** A token that is good for a while yet; asked for once, however many wait for it. */
  current(signal?: AbortSignal): Promise<string>
  /** This one was refused: the next call gets another. */
  forget(token: string): void
}

/** A token is left aside this long before it expires, or with a fifth of its life left. */
const marginMs = 60_000

export function createTokenSource(settings: Settings): TokenSource {
  let endpoint = settings.tokenEndpoint
  let kept: { readonly text: string; readonly goodUntilMs: number } | null = null
  let asked: Promise<string> | null = null

  const ask = async (): Promise<string> => {
    const token = await repeat({ retries: settings.retries, isRepeatable: true }, async () => {
      endpoint ??= await findTokenEndpoint(settings)
      return askToken(settings, endpoint)
    })
    kept = { text: token.text, goodUntilMs: goodUntil(token) }
    return token.text
  }
  return {
    async current(signal) {
      // Before anything is begun: nobody would be there to hear that it failed.
      signal?.throwIfAborted()
      if (kept && Date.now() < kept.goodUntilMs) return kept.text
      asked ??= ask().finally(() => {
        asked = null
      })
      return unlessAborted(asked, signal)
    },
    forget(token) {
      if (kept?.text === token) kept = null
    },
  }
}

const goodUntil = ({ expiresAtMs }: Token): number => {
  const lifeMs = expiresAtMs - Date.now()
  return expiresAtMs - Math.min(marginMs, lifeMs / 5)
}

/** Who gives up waiting leaves the others their token. */
function unlessAborted<Result>(work: Promise<Result>, signal?: AbortSignal): Promise<Result> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
