import { Refused, Unreachable } from '../command.ts'
import type { Role, TokenRequest } from './credentials.ts'

/** Asks the service, under a token. @throws Refused, Unreachable. */
export type Ask = <Answer>(method: string, path: string, body?: object) => Promise<Answer>

/** One request, however it gets there. */
export type Send = (
  listener: 'public' | 'private',
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  payload?: string,
) => Promise<Sent>

interface Sent {
  readonly status: number
  readonly text: string
  /** The `Link` header, which leads to the next page of a list. */
  readonly link: string | null
}

/** Reads a list to its end, page by page. @throws Refused, Unreachable. */
export type ReadAll = <Row>(path: string) => Promise<Row[]>

/** Gives a token, and another one where the last one is of no use any more. */
export interface Tokens {
  current(): Promise<string>
  renew(): Promise<string>
}

export function tokensOf(send: Send, request: () => Promise<TokenRequest>): Tokens {
  let token: Promise<string> | null = null
  const renew = () => {
    token = askToken(send, request)
    return token
  }
  return { current: () => token ?? renew(), renew }
}

async function askToken(send: Send, request: () => Promise<TokenRequest>): Promise<string> {
  const { form, headers } = await request()
  const { status, text } = await send(
    'public',
    'POST',
    '/oauth/token',
    { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    new URLSearchParams(form).toString(),
  )
  if (status === 200) return (JSON.parse(text) as { access_token: string }).access_token
  throw new Refused(status, {
    code: 'no_token',
    detail: `No token was given: ${status}. Is the client registered here, active, and its secret or key right?`,
  })
}

const listeners = { admin: 'private', client: 'public' } as const

/** How the service is asked in a role. */
export function asking(
  send: Send,
  role: Role,
  tokens: Tokens,
): { readonly ask: Ask; readonly readAll: ReadAll } {
  const request = async (method: string, path: string, body?: object) => {
    const attempt = (token: string) =>
      send(listeners[role], method, path, headersOf(token, body), body && JSON.stringify(body))
    const first = await attempt(await tokens.current())
    // A token lives an hour, and a rotation may be waited for longer.
    const sent = first.status === 401 ? await attempt(await tokens.renew()) : first
    const answer = parsed(sent)
    if (sent.status < 300) return { answer, link: sent.link }
    throw new Refused(sent.status, answer as object)
  }
  return {
    ask: async (method, path, body) => (await request(method, path, body)).answer as never,
    readAll: async <Row>(path: string) => {
      const rows: Row[] = []
      let next: string | undefined = path
      while (next !== undefined) {
        const { answer, link } = await request('GET', next)
        rows.push(...(answer as Row[]))
        next = /<([^>]+)>; rel="next"/.exec(link ?? '')?.[1]
      }
      return rows
    },
  }
}

const headersOf = (token: string, body: object | undefined): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  ...(body && { 'content-type': 'application/json' }),
})

function parsed({ status, text }: Sent): unknown {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    throw new Unreachable(`What answers there (${status}) is no Pinfold.`)
  }
}
