import type { JWK } from 'jose'
import { CallFailed } from './errors.ts'

/** The service and the credentials. The content of `DATA_DIR/sandbox.json` fits unchanged. */
export interface PinfoldOptions {
  /** The service's base URL, such as `https://cards.example`; without `/thr/…`. */
  readonly baseUrl: string
  /** The segment after `/thr/`, if it is not `processor`. */
  readonly processorPath?: string
  readonly clientId: string
  /** Either the secret, or the private key whose public half is registered. */
  readonly clientSecret?: string
  readonly privateKey?: PrivateJwk
  /** Space-separated; all scopes of the client unless given. Prefer those that you need. */
  readonly scope?: string
  /** Read from the service's metadata unless given; required with an outside issuer. */
  readonly tokenEndpoint?: string
  /** The audience of `private_key_jwt` with an outside issuer. */
  readonly issuer?: string
  /** For each attempt; 30,000 unless given. */
  readonly timeoutMs?: number
  /** Retries after the first attempt; 2 unless given. */
  readonly retries?: number
  /** Permits http beyond this machine, for example in a mesh that encrypts. */
  readonly allowHttp?: boolean
  /** Replaces the global one: a proxy, a recorder. */
  readonly fetch?: typeof globalThis.fetch
}

/** The validated options. */
export interface Settings {
  readonly baseUrl: string
  /** The prefix of every path. */
  readonly base: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly privateKey: PrivateJwk | undefined
  readonly scope: string | undefined
  readonly tokenEndpoint: string | undefined
  readonly issuer: string
  readonly timeoutMs: number
  readonly retries: number
  readonly allowHttp: boolean
  readonly fetch: typeof globalThis.fetch
}

/** @throws CallFailed `invalid_argument`, `insecure_service`. */
export function parseSettings(options: PinfoldOptions): Settings {
  requireOptions(options)
  const { allowHttp = false, clientId, clientSecret, privateKey, tokenEndpoint } = options
  const { processorPath = 'processor', retries = 2, scope, timeoutMs = 30_000 } = options
  const baseUrl = secureUrl(options.baseUrl, 'baseUrl', allowHttp).replace(/\/+$/, '')
  if (baseUrl.includes('?')) refuse('baseUrl must be a URL without a query.')
  if (typeof clientId !== 'string' || clientId === '') refuse('clientId is missing.')
  if ((clientSecret === undefined) === (privateKey === undefined)) {
    refuse('Give either clientSecret or privateKey, not both.')
  }
  if (!/^[A-Za-z0-9._~-]+$/.test(processorPath))
    refuse('processorPath must be one segment of a path.')
  checkPatience({ timeoutMs, retries })
  if (tokenEndpoint !== undefined) secureUrl(tokenEndpoint, 'tokenEndpoint', allowHttp)
  return {
    baseUrl,
    base: `${baseUrl}/thr/${processorPath}`,
    allowHttp,
    clientId,
    clientSecret,
    privateKey,
    retries,
    scope,
    timeoutMs,
    tokenEndpoint,
    issuer: options.issuer ?? baseUrl,
    // Looked up at each call, so that a later replacement is used.
    fetch: options.fetch ?? ((...request) => globalThis.fetch(...request)),
  }
}

/** Names all that is missing, also for callers without TypeScript. */
function requireOptions(options: Partial<PinfoldOptions> = {}): void {
  const { baseUrl, clientId, clientSecret, privateKey } = options
  const missing = [
    ...(baseUrl === undefined ? ['baseUrl'] : []),
    ...(clientId === undefined ? ['clientId'] : []),
    ...(clientSecret === undefined && privateKey === undefined
      ? ['clientSecret or privateKey']
      : []),
  ]
  if (missing.length > 0) refuse(`Missing: ${missing.join(', ')}.`)
}

/** @throws CallFailed `invalid_argument`. */
export function checkPatience({ retries = 0, silenceMs = 1, timeoutMs = 1 }: Patience): void {
  if (!isTime(timeoutMs)) refuse('timeoutMs must be more than 0 and less than 2,147,483,648.')
  if (!isTime(silenceMs)) refuse('silenceMs must be more than 0 and less than 2,147,483,648.')
  if (!Number.isInteger(retries) || retries < 0)
    refuse('retries must be a whole number, 0 or more.')
}

interface Patience {
  readonly retries?: number | undefined
  readonly silenceMs?: number | undefined
  readonly timeoutMs?: number | undefined
}

/** The range of a timer. Beyond it, a timer fires at once. */
const isTime = (ms: number): boolean => ms > 0 && ms < 2 ** 31

/** @throws CallFailed unless it is https, http on this machine, or permitted http. */
export function secureUrl(text: string, name: string, allowHttp: boolean): string {
  if (typeof text !== 'string' || !URL.canParse(text)) refuse(`${name} must be a URL.`)
  const { hash, hostname, password, protocol, username } = new URL(text)
  if (username || password || hash)
    refuse(`${name} must be a URL without credentials and fragment.`)
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  const isSecure = protocol === 'https:' || (protocol === 'http:' && (isHere || allowHttp))
  if (!isSecure) throw new CallFailed('insecure_service')
  return text
}

function refuse(detail: string): never {
  throw new CallFailed('invalid_argument', { detail })
}

/** A private key (RFC 7517) with the algorithm that it signs with, such as `ES256` or `PS256`. */
export type PrivateJwk = JWK & { readonly alg: string }
