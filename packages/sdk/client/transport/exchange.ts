import { CallFailed } from '../errors.ts'
import type { Settings } from '../options.ts'
import { createTokenSource, type TokenSource } from '../token.ts'
import { type Answer, attempt, type OpenAnswer, type Outgoing, openAttempt } from './attempt.ts'

/** A request to either listener of the service, without a token. */
export type Request = Omit<Outgoing, 'timeoutMs'> & { readonly timeoutMs?: number | undefined }

/**
 * Sends once with the client's token and returns the answer with any status: the layer below every
 * call of this client, and for programs that forward or show answers unchanged.
 */
export interface Exchange {
  /** Ensures a token; the token request has its own retries. @throws CallFailed */
  authenticate(signal?: AbortSignal): Promise<void>
  /** @throws CallFailed */
  send(request: Request): Promise<Answer>
  /** Returns a success with an open body. @throws CallFailed */
  open(request: Request): Promise<OpenAnswer>
}

export function createExchange(
  settings: Settings,
  tokens: TokenSource = createTokenSource(settings),
): Exchange {
  const { fetch, timeoutMs } = settings
  const withToken = async <Reply extends Answer>(
    request: Request,
    sendOnce: (fetch: Settings['fetch'], outgoing: Outgoing) => Promise<Reply>,
  ): Promise<Reply> => {
    const sendWith = (token: string) => {
      const type = request.body !== undefined && { 'content-type': 'application/json' }
      const headers = { authorization: `Bearer ${token}`, ...type, ...request.headers }
      return sendOnce(fetch, { ...request, headers, timeoutMs: request.timeoutMs ?? timeoutMs })
    }
    const token = await tokens.current(request.signal)
    let reply = await sendWith(token)
    if (reply.status === 401) {
      // An unknown token is refused before any effect.
      tokens.forget(token)
      reply = await sendWith(await tokens.current(request.signal))
    }
    const { status } = reply
    // In browsers, an opaque redirect has status 0.
    if (status >= 200 && (status < 300 || status >= 400)) return reply
    throw new CallFailed('unexpected_answer', { status })
  }
  return {
    async authenticate(signal) {
      await tokens.current(signal)
    },
    send: (request) => withToken(request, attempt),
    open: (request) => withToken(request, openAttempt),
  }
}
