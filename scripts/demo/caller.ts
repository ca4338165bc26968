import type { SandboxFile } from '../../src/sandbox/sandbox-file.ts'
import type { Credentials } from '../../src/sandbox/seed.ts'
import type { Actor, Answer, Call } from './step.ts'

const callTimeoutMs = 15_000

/** What the token endpoint answers (RFC 6749, section 5.1). */
export interface TokenAnswer {
  readonly access_token: string
  readonly [member: string]: unknown
}

/** Sends calls as the demo's actors, each under a token that is asked for once. */
export interface Caller {
  /** Gets a token, unless there is one. @returns what was asked and answered, or null. */
  authenticate(actor: Actor): Promise<{ asked: Credentials; answered: TokenAnswer } | null>
  /** Sends a call of an actor that is authenticated. */
  send(call: Call): Promise<Answer>
}

export function createCaller(sandbox: SandboxFile): Caller {
  const tokens = new Map<Actor, string>()
  return {
    async authenticate(actor) {
      if (tokens.has(actor)) return null
      const asked = actor === 'client' ? sandbox : sandbox[actor]
      const answered = await requestToken(sandbox.tokenEndpoint, asked)
      tokens.set(actor, answered.access_token)
      return { asked, answered }
    },
    async send(call) {
      const token = tokens.get(call.as) ?? ''
      return answerOf(await fetch(urlOf(sandbox, call), requestOf(call, token)))
    },
  }
}

const urlOf = ({ baseUrl, privateUrl }: SandboxFile, { as, path }: Call): string =>
  (as === 'network' || as === 'admin' ? privateUrl : baseUrl) + path

const requestOf = ({ body, headers, method }: Call, token: string): RequestInit => ({
  method,
  headers: {
    ...headers,
    authorization: `Bearer ${token}`,
    ...(body && { 'content-type': 'application/json' }),
  },
  ...(body && { body: JSON.stringify(body) }),
  signal: AbortSignal.timeout(callTimeoutMs),
})

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text()
  const body: unknown = text === '' ? null : JSON.parse(text)
  return { status: response.status, headers: response.headers, body }
}

/** RFC 6749, section 4.4, with `client_secret_basic`. */
async function requestToken(
  tokenEndpoint: string,
  { clientId, clientSecret, scope }: Credentials,
): Promise<TokenAnswer> {
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  const response = await fetch(tokenEndpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
    signal: AbortSignal.timeout(callTimeoutMs),
  })
  if (response.ok) return (await response.json()) as TokenAnswer
  throw new Error(
    `${tokenEndpoint} refuses ${clientId} with ${response.status}. ` +
      'Does the server run on another DATA_DIR than this demo reads?',
  )
}
