import { CallFailed } from '../errors.ts'
import type { Settings } from '../options.ts'
import { createTokenSource, type TokenSource } from '../token.ts'
import { type Answer, attempt, type OpenAnswer, type Outgoing, openAttempt } from './attempt.ts'

/** A request before it has a token, to either listener of the service. */
export type Request = Omit<Outgoing, 'timeoutMs'> & { readonly timeoutMs?: number | undefined }

/**
 * Sends once under the client's token, and answers what comes, whatever its status: below every
 * call of this client, and for programs that pass an answer on, or show it, as it came.
 */
export interface Exchange {
  /** Has a token, or asks for one: asking has tries of its own. @throws CallFailed */
  authenticate(signal?: AbortSignal): Promise<void>
  /** @throws CallFailed */
  send(request: Request): Promise<Answer>
  /** Leaves the body of a success to be read. @throws CallFailed */
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
      // A token that the service does not know any more is refused before anything is done.
      tokens.forget(token)
      reply = await sendWith(await tokens.current(request.signal))
    }
    const { status } = reply
    // Where a redirect is not shown to programs, its status is 0.
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
