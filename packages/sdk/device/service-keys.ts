import { type CryptoKey, importJWK, type JWK } from 'jose'
import { DeviceError, isJsonObject, orRefuse, refuse, requireWebCrypto } from './device-error.ts'
import { isStrongRsaKey } from './rsa-key.ts'

/** A service, and the public keys that encrypt and sign its card data. */
export interface ServiceKeys {
  /** Its base URL, without a trailing slash: the `iss` of its signatures. */
  readonly issuer: string
  readonly keys: readonly ServiceKey[]
}

/** A public key of a service (RFC 7517), for one purpose. */
export type ServiceKey = JWK & {
  readonly kid: string
  readonly alg: KeyAlgorithm
}

/** One purpose each: imported session keys, their answers, device-key answers, imported PINs. */
export type KeyAlgorithm = keyof typeof forms

/** The required members of a key of each algorithm. */
const forms = {
  'RSA-OAEP-256': { kty: 'RSA', use: 'enc' },
  PS256: { kty: 'RSA', use: 'sig' },
  ES256: { kty: 'EC', use: 'sig', crv: 'P-256' },
  'ECDH-ES': { kty: 'EC', use: 'enc', crv: 'P-256' },
} as const

/**
 * Returns the keys in the application's build.
 * @param issuer base URL of the service.
 * @param jwks the service's `/.well-known/jwks.json`.
 * @throws DeviceError `invalid_keys`, `invalid_argument`.
 */
export function pinKeys(issuer: string, jwks: unknown): ServiceKeys {
  if (!URL.canParse(issuer)) refuse('invalid_argument')
  const keys = isJsonObject(jwks) && Array.isArray(jwks.keys) ? jwks.keys : []
  if (keys.length === 0 || !keys.every(isServiceKey)) refuse('invalid_keys')
  return { issuer: issuer.replace(/\/+$/, ''), keys }
}

export interface FetchKeysOptions {
  readonly fetch?: typeof globalThis.fetch
  /** Aborts the request. */
  readonly signal?: AbortSignal
  /** The time limit; 10 seconds unless given. */
  readonly timeoutMs?: number
}

/**
 * Fetches the keys from the service itself. Never through a client system, which could replace
 * them.
 * @param issuer base URL of the service; https, except for a service on this machine.
 * @throws DeviceError `insecure_service`, `keys_unavailable`, `invalid_keys`, `invalid_argument`.
 */
export async function fetchKeys(
  issuer: string,
  { fetch = globalThis.fetch, signal, timeoutMs = 10_000 }: FetchKeysOptions = {},
): Promise<ServiceKeys> {
  if (!URL.canParse(issuer)) refuse('invalid_argument')
  if (!isSecure(new URL(issuer))) refuse('insecure_service')
  const jwks = await orRefuse('keys_unavailable', async () => {
    const timeOut = AbortSignal.timeout(timeoutMs)
    const answer = await fetch(`${issuer.replace(/\/+$/, '')}/.well-known/jwks.json`, {
      // A redirect could return another server's keys.
      redirect: 'error',
      credentials: 'omit',
      // Keys from before a rotation decrypt nothing.
      cache: 'no-store',
      signal: signal ? AbortSignal.any([signal, timeOut]) : timeOut,
    })
    if (!answer.ok) refuse('keys_unavailable')
    return (await answer.json()) as unknown
  })
  return pinKeys(issuer, jwks)
}

const isSecure = ({ hostname, protocol }: URL): boolean =>
  protocol === 'https:' ||
  (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname))

function isServiceKey(key: unknown): key is ServiceKey {
  if (!isJsonObject(key) || typeof key.kid !== 'string' || typeof key.alg !== 'string') return false
  const form = Object.hasOwn(forms, key.alg) ? forms[key.alg as KeyAlgorithm] : null
  const isForm = form && Object.entries(form).every(([name, value]) => key[name] === value)
  const isStrong = key.kty !== 'RSA' || isStrongRsaKey(key.n, key.e)
  return Boolean(isForm) && isStrong && !('d' in key) && !('k' in key)
}

/**
 * Returns the current key of a purpose: the first that the service publishes.
 * @throws DeviceError
 */
export const currentKey = ({ keys }: ServiceKeys, alg: KeyAlgorithm): ServiceKey =>
  keys.find((key) => key.alg === alg) ?? refuse('key_missing')

/** Returns all keys of a purpose: signatures from before a rotation are still valid. */
export const filterKeys = ({ keys }: ServiceKeys, alg: KeyAlgorithm): readonly ServiceKey[] =>
  keys.filter((key) => key.alg === alg)

/**
 * Imports a key for its own algorithm only.
 * @throws DeviceError `invalid_keys`, `no_web_crypto`.
 */
export async function importKey(key: ServiceKey): Promise<CryptoKey> {
  requireWebCrypto()
  const imported = await orRefuse('invalid_keys', () => importJWK(key, key.alg))
  if (imported instanceof Uint8Array) throw new DeviceError('invalid_keys')
  return imported
}

/** Checks that an answer is recent. */
export interface DeviceClock {
  /**
   * @throws DeviceError `wrong_time` unless an answer was made for this request, within its minute.
   */
  check(issuedAt: unknown, expiresAt: unknown): void
  /** The same for an answer without an expiry. */
  checkIssued(issuedAt: unknown): void
}

/** The lifetime of an answer in seconds. */
const answerLifeSeconds = 60

/**
 * Creates a clock that starts with the request.
 * @param nowMs milliseconds since 1970, as `Date.now`.
 * @param toleranceSeconds the maximum difference between the clocks of device and service.
 */
export function startClock(nowMs: () => number, toleranceSeconds: number): DeviceClock {
  const startedAt = nowMs() / 1000
  const check: DeviceClock['check'] = (issuedAt, expiresAt) => {
    if (!isInstant(issuedAt) || !isInstant(expiresAt)) return refuse('wrong_time')
    const now = nowMs() / 1000
    const isNow =
      issuedAt <= now + toleranceSeconds &&
      now <= expiresAt + toleranceSeconds &&
      expiresAt - issuedAt <= answerLifeSeconds &&
      // The service answers in whole seconds, so its time may be just before the request.
      issuedAt >= Math.floor(startedAt) - toleranceSeconds
    if (!isNow) refuse('wrong_time')
  }
  return {
    check,
    checkIssued: (issuedAt) => check(issuedAt, Number(issuedAt) + answerLifeSeconds),
  }
}

const isInstant = (value: unknown): value is number => Number.isSafeInteger(value)
