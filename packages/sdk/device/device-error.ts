/** The reason of a failure. Stable: switch on it. */
export type DeviceErrorCode = keyof typeof messages

const messages = {
  invalid_argument: 'An argument is not valid.',
  no_web_crypto:
    'This runtime has no Web Cryptography (crypto.subtle). A page needs https or localhost; ' +
    'other programs need a newer runtime.',
  insecure_service: 'Keys are loaded over https only.',
  keys_unavailable: "The service's keys could not be loaded.",
  invalid_keys: 'These are not the card-data keys of a service: public keys with kid, use and alg.',
  key_missing: 'The service has no suitable key.',
  malformed_answer: 'The answer does not belong to the request.',
  already_opened: 'An answer to this request has already been opened.',
  not_sealed_to_device: 'The answer is not sealed to the key of this request, or was changed.',
  unknown_key: "The key that signed the answer is not one of the service's keys.",
  invalid_signature: 'The answer is not signed by the service.',
  wrong_issuer: 'The answer is from another service.',
  wrong_card: 'The answer is for another card.',
  wrong_nonce: 'The answer belongs to another request.',
  wrong_recipient: 'The answer is sealed for a key other than that of this request.',
  wrong_time: "By this device's clock, the answer is too old or from the future.",
  wrong_content: 'The answer does not contain the requested data.',
} as const

/** The only deliberate error of this library. It contains no secret. */
export class DeviceError extends Error {
  readonly code: DeviceErrorCode

  constructor(code: DeviceErrorCode, cause?: unknown) {
    super(messages[code], cause === undefined ? undefined : { cause })
    this.name = 'DeviceError'
    this.code = code
  }
}

/** Throws an error with a code. @throws DeviceError always. */
export function refuse(code: DeviceErrorCode): never {
  throw new DeviceError(code)
}

/** @throws DeviceError `no_web_crypto` when the runtime lacks the required functions. */
export function requireWebCrypto(): void {
  const { crypto }: { readonly crypto?: { readonly subtle?: object } } = globalThis
  if (!crypto?.subtle) refuse('no_web_crypto')
}

/** Turns any failure of `work` into one code. @throws DeviceError */
export async function orRefuse<Result>(
  code: DeviceErrorCode,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof DeviceError) throw error
    throw new DeviceError(code)
  }
}

export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a value is an object with members. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object in a JSON text of UTF-8, or null. */
export function parseJsonObject(bytes: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return isJsonObject(value) ? value : null
  } catch {
    return null
  }
}

/** Bytes as base64, with padding (RFC 4648 section 4). */
export const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

/** Bytes as base64url, without padding (RFC 4648 section 5). */
export const toBase64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

/** Decodes base64; null unless it is canonical. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    return toBase64(bytes) === text ? bytes : null
  } catch {
    return null
  }
}
