import { RelayError } from './relay-error.ts'

export interface RelayCall {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Calls the client system. @returns its JSON, or null without a body. @throws RelayError */
export async function callRelay({
  body,
  headers,
  method,
  signal,
  url,
}: RelayCall): Promise<unknown> {
  const init: RequestInit = {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
    cache: 'no-store',
    credentials: 'same-origin',
    // A redirect could lead to where the page never meant to send anything.
    redirect: 'error',
  }
  const { answer, text } = await ask(url, init)
  const content = text === '' ? null : parse(text)
  if (answer.ok) return content === undefined ? refuse('malformed_answer') : content
  const retryAfter = Number(answer.headers.get('retry-after'))
  // A page of a proxy on the way, say: whatever is in it, the service is not behind it.
  return refuse(codeOf(content) ?? 'service_unreachable', retryAfter > 0 ? retryAfter : null)
}

async function ask(url: string, init: RequestInit): Promise<{ answer: Response; text: string }> {
  try {
    const answer = await fetch(url, init)
    return { answer, text: await answer.text() }
  } catch {
    return refuse('unreachable')
  }
}

function refuse(code: string, retryAfterSeconds: number | null = null): never {
  throw new RelayError(code, retryAfterSeconds)
}

/** Undefined for what is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The code of a problem document, or null where there is none. */
function codeOf(problem: unknown): string | null {
  const hasCode = typeof problem === 'object' && problem !== null && 'code' in problem
  return hasCode && typeof problem.code === 'string' ? problem.code : null
}
