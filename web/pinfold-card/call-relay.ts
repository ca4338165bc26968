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
  const answer = await fetch(url, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
    cache: 'no-store',
    credentials: 'same-origin',
    // A redirect could lead to where the page never meant to send anything.
    redirect: 'error',
  }).catch(() => {
    throw new RelayError('unreachable')
  })
  const text = await answer.text()
  if (answer.ok) return text === '' ? null : parse(text)
  const retryAfter = Number(answer.headers.get('retry-after'))
  throw new RelayError(codeOf(text), retryAfter > 0 ? retryAfter : null)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new RelayError('malformed_answer')
  }
}

function codeOf(text: string): string {
  const problem = parse(text)
  const hasCode = typeof problem === 'object' && problem !== null && 'code' in problem
  return hasCode && typeof problem.code === 'string' ? problem.code : 'malformed_answer'
}
