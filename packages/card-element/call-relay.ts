import {
  type CardData,
  fetchKeys,
  requestCardData,
  type ServiceKeys,
} from '../sdk/device/device.ts'

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
  return refuse(
    findProblemCode(content) ?? 'service_unreachable',
    retryAfter > 0 ? retryAfter : null,
  )
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
function findProblemCode(problem: unknown): string | null {
  const hasCode = typeof problem === 'object' && problem !== null && 'code' in problem
  return hasCode && typeof problem.code === 'string' ? problem.code : null
}

/** A failure that a relay answered with, or `unreachable`. The code is what to switch on. */
class RelayError extends Error {
  readonly code: string
  /** When to try again, if the answer says so. */
  readonly retryAfterSeconds: number | null

  constructor(code: string, retryAfterSeconds: number | null = null) {
    super(`The relay answered ${code}.`)
    this.name = 'RelayError'
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export interface RevealRequest {
  /** Keys that the application was built with, or null: they are fetched from `issuer`. */
  readonly service: ServiceKeys | null
  readonly issuer: string
  readonly publicToken: string
  readonly relayUrl: string
  readonly includePin: boolean
}

/**
 * Asks for the card under a key made for this once, and opens what comes back.
 * @throws DeviceError or RelayError, and then nothing of the card was seen.
 */
export async function revealCard(request: RevealRequest, signal: AbortSignal): Promise<CardData> {
  const { includePin, issuer, publicToken, relayUrl } = request
  const service = request.service ?? (await fetchKeys(issuer, { signal }))
  const { body, open } = await requestCardData(service, publicToken, { includePin })
  return open(await callRelay({ method: 'POST', url: relayUrl, body, signal }))
}
