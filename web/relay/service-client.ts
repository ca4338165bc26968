/** Where a client system finds the service, and what it shows to get a token. */
export interface ServiceAccess {
  /** Where the service is called, without a slash at the end. */
  readonly serviceUrl: string
  readonly processorPath: string
  readonly clientId: string
  readonly clientSecret: string
}

/** A call of the specification. The path is written without `/thr/processor`. */
export interface ServiceCall {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  /** JSON, as it is sent. */
  readonly body?: string
  readonly idempotencyKey?: string
}

export interface ServiceAnswer {
  readonly status: number
  readonly type: string
  readonly retryAfter: string | null
  readonly text: string
}

export interface ServiceClient {
  /** What stands before every path. */
  readonly base: string
  /** @throws Error when the service cannot be reached or gives no token. */
  call(call: ServiceCall): Promise<ServiceAnswer>
}

const timeoutMs = 10_000
/** A token is left aside this long before it expires. */
const marginMs = 60_000

/** @param scope the least that this caller needs. */
export function createServiceClient(access: ServiceAccess, scope: string): ServiceClient {
  const base = `/thr/${access.processorPath}`
  let token: Promise<Token> | null = null
  const currentToken = async (): Promise<string> => {
    const kept = await token?.catch(() => null)
    if (!kept || kept.goodUntilMs < Date.now()) token = askToken(access, scope)
    return (await (token as Promise<Token>)).text
  }
  return {
    base,
    async call(call) {
      const answer = await send(access, base, call, await currentToken())
      if (answer.status !== 401) return answer
      // The service forgot the token: its data was removed, or its keys were changed.
      token = null
      return send(access, base, call, await currentToken())
    },
  }
}

interface Token {
  readonly text: string
  readonly goodUntilMs: number
}

/** RFC 6749, section 4.4, with `client_secret_basic`. */
async function askToken(
  { clientId, clientSecret, serviceUrl }: ServiceAccess,
  scope: string,
): Promise<Token> {
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  const answer = await fetch(`${serviceUrl}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'error',
  })
  if (!answer.ok) throw new Error(`No token was given to ${clientId}: ${answer.status}`)
  const { access_token, expires_in } = (await answer.json()) as TokenAnswer
  return { text: access_token, goodUntilMs: Date.now() + expires_in * 1_000 - marginMs }
}

interface TokenAnswer {
  readonly access_token: string
  readonly expires_in: number
}

async function send(
  { serviceUrl }: ServiceAccess,
  base: string,
  { body, idempotencyKey, method, path }: ServiceCall,
  token: string,
): Promise<ServiceAnswer> {
  const answer = await fetch(`${serviceUrl}${base}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    ...(body !== undefined && { body }),
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'error',
  })
  return {
    status: answer.status,
    type: answer.headers.get('content-type') ?? 'application/json',
    retryAfter: answer.headers.get('retry-after'),
    text: await answer.text(),
  }
}
