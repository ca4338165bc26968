/** Why the library gave nothing back. Stable: switch on it. */
export type DeviceErrorCode = keyof typeof messages

const messages = {
  invalid_argument: 'An argument is not what it should be.',
  insecure_service: 'Keys are fetched over https only.',
  keys_unavailable: "The service's keys could not be fetched.",
  invalid_keys: 'These are no card-data keys of a service: public keys with kid, use and alg.',
  key_missing: 'The service has no key for this.',
  malformed_answer: 'This is no answer to the request.',
  already_opened: 'An answer to this request was opened before.',
  not_sealed_to_device: 'The answer is not sealed to the key of this request, or was changed.',
  unknown_key: "The answer is signed with a key that is not among the service's keys.",
  invalid_signature: 'The answer is not signed by the service.',
  wrong_issuer: 'The answer is from another service.',
  wrong_card: 'The answer is for another card.',
  wrong_nonce: 'The answer is to another request.',
  wrong_recipient: 'The answer was made for another key than that of this request.',
  wrong_time: "The answer is too old, or from the future, by this device's clock.",
  wrong_content: 'The answer does not hold what was asked for.',
} as const

/** The only error that this library throws on purpose. No secret is in it. */
export class DeviceError extends Error {
  readonly code: DeviceErrorCode

  constructor(code: DeviceErrorCode, cause?: unknown) {
    super(messages[code], cause === undefined ? undefined : { cause })
    this.name = 'DeviceError'
    this.code = code
  }
}

/** Leaves with a code. @throws DeviceError always. */
export function refuse(code: DeviceErrorCode): never {
  throw new DeviceError(code)
}

/** Whatever fails in `work` leaves with one code. @throws DeviceError */
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
