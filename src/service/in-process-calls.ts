import { randomBytes } from 'node:crypto'
import { Problem } from '../domain/problem.ts'
import type { Server } from '../listeners/http/server.ts'
import type { AccessTokenVerifier, Caller } from '../listeners/oauth/access-token-verifier.ts'

/** A call of the private listener by this process, on behalf of a caller. */
interface InProcessCall {
  readonly method: string
  readonly path: string
  readonly body: object | null
  readonly idempotencyKey: string | null
  /** The ID of the request that caused it, if any. */
  readonly requestId?: string
}

/** The answer. */
interface InProcessAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Parsed JSON, otherwise text; null without a body. */
  readonly body: unknown
}

/** Calls by this process. */
export interface InProcessCalls {
  /** The listener's verifier, which also accepts the callers of this process. */
  readonly verifier: AccessTokenVerifier
  /** Creates an `Authorization` header that is valid for one call of this process as the caller. */
  createAuthorization(caller: Caller): string
  callAs(app: Server, host: string, caller: Caller, call: InProcessCall): Promise<InProcessAnswer>
}

const scheme = 'InProcess '

/**
 * Lets this process call its own private listener as a given caller. A call names its caller by a
 * handle of 256 random bits, which is made for one call, deleted on arrival and never leaves this
 * process.
 */
export function inProcessCalls(verifier: AccessTokenVerifier): InProcessCalls {
  const callers = new Map<string, Caller>()
  const createAuthorization = (caller: Caller): string => {
    const authorization = `${scheme}${randomBytes(32).toString('base64url')}`
    callers.set(authorization, caller)
    return authorization
  }
  return {
    createAuthorization,
    verifier: {
      async verify(header, presented) {
        if (!header?.startsWith(scheme)) return verifier.verify(header, presented)
        const caller = callers.get(header)
        callers.delete(header)
        if (!caller) throw new Problem('unauthenticated')
        return caller
      },
    },
    async callAs(app, host, caller, { body, idempotencyKey, method, path, requestId }) {
      const authorization = createAuthorization(caller)
      try {
        const answer = await app.inject({
          method: method as 'GET',
          url: path,
          headers: {
            host,
            authorization,
            ...(requestId !== undefined && { 'x-request-id': requestId }),
            ...(idempotencyKey !== null && { 'idempotency-key': idempotencyKey }),
            ...(body && { 'content-type': 'application/json' }),
          },
          ...(body && { payload: JSON.stringify(body) }),
        })
        const isJson = /[/+]json\b/.test(String(answer.headers['content-type']))
        const text = answer.payload === '' ? null : answer.payload
        const headers = Object.entries(answer.headers).map(
          ([name, value]) => [name, String(value)] as const,
        )
        return {
          status: answer.statusCode,
          headers: Object.fromEntries(headers),
          body: isJson && text ? JSON.parse(text) : text,
        }
      } finally {
        callers.delete(authorization)
      }
    },
  }
}
