import {
  type CardData,
  fetchKeys,
  requestCardData,
  type ServiceKeys,
  sealPin,
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
    // A redirect could send the request elsewhere.
    redirect: 'error',
  }
  const { answer, text } = await ask(url, init)
  const content = text === '' ? null : parse(text)
  if (answer.ok) return content === undefined ? refuse('malformed_answer') : content
  const retryAfter = Number(answer.headers.get('retry-after'))
  // A proxy's error page, for example: its content is not the service's.
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

/** Undefined for text that is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the code of a problem document, or null without one. */
function findProblemCode(problem: unknown): string | null {
  const hasCode = typeof problem === 'object' && problem !== null && 'code' in problem
  return hasCode && typeof problem.code === 'string' ? problem.code : null
}

/** A relay's error answer, or `unreachable`. Programs switch on the code. */
class RelayError extends Error {
  readonly code: string
  /** The `Retry-After` of the answer, if any. */
  readonly retryAfterSeconds: number | null

  constructor(code: string, retryAfterSeconds: number | null = null) {
    super(`The relay answered ${code}.`)
    this.name = 'RelayError'
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** A card, and the keys to seal for or to verify with. */
export interface CardContext {
  /** The keys in the application's build, or null to fetch them from `issuer`. */
  readonly service: ServiceKeys | null
  readonly issuer: string
  readonly publicToken: string
}

export interface RevealRequest extends CardContext {
  readonly relayUrl: string
  readonly includePin: boolean
}

/**
 * Requests the card with a one-time key and decrypts the answer.
 * @throws DeviceError or RelayError; nothing of the card is returned then.
 */
export async function revealCard(request: RevealRequest, signal: AbortSignal): Promise<CardData> {
  const { includePin, publicToken, relayUrl } = request
  const { body, open } = await requestCardData(await findKeys(request, signal), publicToken, {
    includePin,
  })
  return open(await callRelay({ method: 'POST', url: relayUrl, body, signal }))
}

/**
 * Seals a PIN on this device and sends it: the relay receives ciphertext only.
 * @throws DeviceError or RelayError
 */
export async function sendPin(
  card: CardContext,
  pinUrl: string,
  pin: string,
  signal: AbortSignal,
): Promise<void> {
  const body = await sealPin(await findKeys(card, signal), card.publicToken, pin)
  await callRelay({ method: 'POST', url: pinUrl, body, signal })
}

const findKeys = async ({ issuer, service }: CardContext, signal: AbortSignal) =>
  service ?? (await fetchKeys(issuer, { signal }))
