import { importJWK, SignJWT } from 'jose'
import { CallFailed } from './errors.ts'
import { type PrivateJwk, type Settings, secureUrl } from './options.ts'
import { type Answer, attempt, repeat } from './transport/attempt.ts'
import { objectIn, parseRetryAfter } from './transport/content.ts'

export interface TokenSource {
  /** Returns a token with enough remaining life; concurrent callers share one request. */
  current(signal?: AbortSignal): Promise<string>
  /** Discards a refused token: the next call gets another. */
  forget(token: string): void
}

/** A token is replaced this long before it expires, or with a fifth of its life left. */
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
      // Before the request starts: otherwise its failure would be unhandled.
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

/** An aborted caller does not abort the request that others share. */
function unlessAborted<Result>(work: Promise<Result>, signal?: AbortSignal): Promise<Result> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

interface Token {
  readonly text: string
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number
}

/**
 * Returns the token endpoint in the service's metadata (RFC 8414).
 * @throws CallFailed `wrong_issuer`, `unexpected_answer`.
 */
async function findTokenEndpoint(settings: Settings): Promise<string> {
  const { allowHttp, baseUrl, fetch, timeoutMs } = settings
  const url = `${baseUrl}/.well-known/oauth-authorization-server`
  const answer = await attempt(fetch, { url, method: 'GET', headers: {}, timeoutMs })
  const { issuer, token_endpoint: endpoint } = objectIn(answer.text) ?? {}
  if (answer.status !== 200 || typeof endpoint !== 'string') {
    throw new CallFailed('unexpected_answer', { status: answer.status })
  }
  // Without this comparison, a client could send its secret to another server (section 3.3).
  if (issuer !== baseUrl) {
    const name = typeof issuer === 'string' ? issuer : 'nothing'
    throw new CallFailed('wrong_issuer', { detail: `Its name is ${name}.` })
  }
  return secureUrl(endpoint, 'token_endpoint', allowHttp)
}

/**
 * Requests a token once (RFC 6749 section 4.4).
 * @throws CallFailed `token_refused`, or the failure of the request.
 */
async function askToken(settings: Settings, url: string): Promise<Token> {
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
  const { access_token: text, expires_in: seconds } = objectIn(answer.text) ?? {}
  if (answer.status !== 200 || !isToken(text)) throw toRefusal(answer)
  // A token without a lifetime is used for five minutes; the service refuses it if that was too
  // long.
  const lifeMs = (typeof seconds === 'number' ? seconds : 300) * 1_000
  return { text, expiresAtMs: askedAtMs + lifeMs }
}

/** RFC 6750 section 2.1. The errors of `fetch` would quote any other text. */
const isToken = (text: unknown): text is string =>
  typeof text === 'string' && /^[A-Za-z0-9._~+/-]+=*$/.test(text)

function toRefusal(answer: Answer): CallFailed {
  const { headers, status } = answer
  const { error, error_description: description } = objectIn(answer.text) ?? {}
  const retryAfterSeconds = parseRetryAfter(headers)
  const oauthError = typeof error === 'string' ? error : undefined
  const said = typeof description === 'string' ? `: ${description}` : '.'
  const detail = oauthError === undefined ? `Status ${status}.` : `${oauthError}${said}`
  return new CallFailed('token_refused', { status, oauthError, retryAfterSeconds, detail })
}

/** The client's credentials in a token request. */
interface ClientAuthentication {
  readonly headers: Readonly<Record<string, string>>
  readonly parameters: Readonly<Record<string, string>>
}

/**
 * `client_secret_basic` (RFC 6749 section 2.3.1) or `private_key_jwt` (RFC 7523). A new one for
 * each request: an assertion is taken once.
 * @throws CallFailed `invalid_argument` for a key that cannot sign.
 */
async function authenticateClient(settings: Settings): Promise<ClientAuthentication> {
  const { clientId, clientSecret, issuer, privateKey } = settings
  if (privateKey) return { headers: {}, parameters: await assertion(clientId, issuer, privateKey) }
  const pair = `${formEncode(clientId)}:${formEncode(clientSecret ?? '')}`
  return { headers: { authorization: `Basic ${btoa(pair)}` }, parameters: {} }
}

async function assertion(
  clientId: string,
  issuer: string,
  { alg, kid, ...privateKey }: PrivateJwk,
): Promise<Record<string, string>> {
  try {
    const signed = await new SignJWT({})
      .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(issuer)
      .setJti(crypto.randomUUID())
      .setIssuedAt()
      .setExpirationTime('60s')
      .sign(await importJWK(privateKey, alg))
    return {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: signed,
    }
  } catch {
    // The cause is omitted, since a library's message about an unreadable key may quote it.
    throw new CallFailed('invalid_argument', { detail: 'privateKey cannot sign.' })
  }
}

const formEncode = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)
