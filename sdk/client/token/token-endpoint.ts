import { CallFailed } from '../errors/call-failed.ts'
import { retryAfterOf } from '../errors/problem-of.ts'
import { type Settings, secureUrl } from '../options.ts'
import { type Answer, attempt } from '../transport/attempt.ts'
import { authenticateClient } from './client-authentication.ts'

export interface Token {
  readonly text: string
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number
}

/**
 * Where tokens are had, by the metadata of the service (RFC 8414).
 * @throws CallFailed `wrong_issuer`, `unexpected_answer`.
 */
export async function findTokenEndpoint(settings: Settings): Promise<string> {
  const { allowHttp, baseUrl, fetch, timeoutMs } = settings
  const url = `${baseUrl}/.well-known/oauth-authorization-server`
  const answer = await attempt(fetch, { url, method: 'GET', headers: {}, timeoutMs })
  const { issuer, token_endpoint: endpoint } = jsonOf(answer)
  if (answer.status !== 200 || typeof endpoint !== 'string') {
    throw new CallFailed('unexpected_answer', { status: answer.status })
  }
  // A client that did not compare could be led to show its secret to somebody else (section 3.3).
  if (issuer !== baseUrl) {
    const name = typeof issuer === 'string' ? issuer : 'nothing'
    throw new CallFailed('wrong_issuer', { detail: `It calls itself ${name}.` })
  }
  return secureUrl(endpoint, 'token_endpoint', allowHttp)
}

/** Asks once (RFC 6749 section 4.4). @throws CallFailed `token_refused`, or what kept it from asking. */
export async function askToken(settings: Settings, url: string): Promise<Token> {
  const { fetch, scope, timeoutMs } = settings
  const { headers, parameters } = await authenticateClient(settings)
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    ...(scope !== undefined && { scope }),
    ...parameters,
  }).toString()
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const askedAtMs = Date.now()
  const call = { url, method: 'POST', headers: { ...type, ...headers }, body, timeoutMs } as const
  const answer = await attempt(fetch, call)
  const { access_token: text, expires_in: seconds } = jsonOf(answer)
  if (answer.status !== 200 || !isToken(text)) throw refusalOf(answer)
  // Without a time a token is kept for five minutes; the service tells if that was too long.
  const lifeMs = (typeof seconds === 'number' ? seconds : 300) * 1_000
  return { text, expiresAtMs: askedAtMs + lifeMs }
}

/** RFC 6750 section 2.1. Anything else the errors of `fetch` would quote. */
const isToken = (text: unknown): text is string =>
  typeof text === 'string' && /^[A-Za-z0-9._~+/-]+=*$/.test(text)

function refusalOf(answer: Answer): CallFailed {
  const { headers, status } = answer
  const { error, error_description: description } = jsonOf(answer)
  const retryAfterSeconds = retryAfterOf(headers)
  const oauthError = typeof error === 'string' ? error : undefined
  const said = typeof description === 'string' ? `: ${description}` : '.'
  const detail = oauthError === undefined ? `Status ${status}.` : `${oauthError}${said}`
  return new CallFailed('token_refused', { status, oauthError, retryAfterSeconds, detail })
}

function jsonOf({ text }: Answer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
