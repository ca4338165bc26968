import type { SandboxFile } from '../../sandbox/sandbox-file.ts'
import { Refused, Unreachable } from '../command.ts'
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
  const tokens = new Map<CallerName, Promise<string>>()
  const findToken = (as: CallerName): Promise<string> => {
    const token = tokens.get(as) ?? askToken(sandbox, as)
    tokens.set(as, token)
    return token
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

async function askToken(sandbox: SandboxFile, as: CallerName): Promise<string> {
  const { clientId, clientSecret } = as === 'client' ? sandbox : sandbox[as]
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  const answer = await send(sandbox.tokenEndpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const body = parseJson(await answer.text()) as { access_token?: string } | undefined
  if (answer.ok && body?.access_token !== undefined) return body.access_token
  throw new Refused(answer.status, { detail: `No token was issued for ${clientId}.` })
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
