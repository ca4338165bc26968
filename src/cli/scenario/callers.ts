import { parseSettings } from '../../../packages/sdk/client/options.ts'
import { createTokenSource, type TokenSource } from '../../../packages/sdk/client/token.ts'
import type { SandboxFile } from '../../sandbox/sandbox-file.ts'
import { Unreachable } from '../command.ts'
import type { CallerName } from './schema.ts'

/** An answer of the service. */
export interface ScenarioAnswer {
  readonly status: number
  readonly headers: Headers
  /** Undefined without JSON. */
  readonly body: unknown
}

interface CallParts {
  readonly as: CallerName
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a call of one of the sandbox's clients, with its token. */
export type SendCall = (call: CallParts) => Promise<ScenarioAnswer>

const privateCallers: readonly CallerName[] = ['network', 'admin']

/** Creates the calls of the clients of a sandbox. */
export function createCalls(sandbox: SandboxFile): SendCall {
  const tokens = new Map<CallerName, TokenSource>()
  const findToken = (as: CallerName): Promise<string> => {
    const token = tokens.get(as) ?? createToken(sandbox, as)
    tokens.set(as, token)
    return token.current()
  }
  return async ({ as, body, headers, method, path }) => {
    const base = privateCallers.includes(as)
      ? sandbox.privateUrl
      : `${sandbox.baseUrl}/thr/${sandbox.processorPath}`
    const answer = await send(`${base}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await findToken(as)}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: parseJson(text) }
  }
}

function createToken(sandbox: SandboxFile, as: CallerName): TokenSource {
  const { clientId, clientSecret } = as === 'client' ? sandbox : sandbox[as]
  const { baseUrl, tokenEndpoint } = sandbox
  return createTokenSource(parseSettings({ baseUrl, tokenEndpoint, clientId, clientSecret }))
}

/** How long an answer may take. */
const timeoutMs = 60_000

const send = (url: string, request: RequestInit): Promise<Response> =>
  fetch(url, { ...request, signal: AbortSignal.timeout(timeoutMs) }).catch((cause: unknown) => {
    throw new Unreachable(`No server answers at ${new URL(url).origin}.`, { cause })
  })

function parseJson(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
