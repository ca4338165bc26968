import { CompactEncrypt } from 'jose'
import { orRefuse, refuse, toBase64Url } from './device-error.ts'
import { currentKey, importKey, type ServiceKeys } from './service-keys.ts'

/** The JSON body that the client system sends unchanged to `POST T/card-pin/{publicToken}/pin`. */
export interface SealedPin {
  /** Valid for one use, within 5 minutes. */
  readonly encryptedPin: string
}

/**
 * Encrypts a PIN that the cardholder chose to the service. The client system cannot read it, and
 * the service accepts it for this card only, once, within 5 minutes. In that time, a client system
 * may delay it and forward it after a later one: the last one to arrive is the PIN.
 * @param pin 4 to 12 digits, as many as the card's product requires.
 * @throws DeviceError `invalid_argument`, `key_missing`, `invalid_keys`.
 */
export async function sealPin(
  service: ServiceKeys,
  publicToken: string,
  pin: string,
  { nowMs = Date.now }: { readonly nowMs?: () => number } = {},
): Promise<SealedPin> {
  if (!isPublicToken(publicToken) || !isPin(pin)) refuse('invalid_argument')
  const key = currentKey(service, 'ECDH-ES')
  const publicKey = await importKey(key)
  const jti = toBase64Url(crypto.getRandomValues(new Uint8Array(16)))
  const envelope = { pin, publicToken, jti, iat: Math.floor(nowMs() / 1000) }
  const encryptedPin = await orRefuse('invalid_keys', () =>
    new CompactEncrypt(new TextEncoder().encode(JSON.stringify(envelope)))
      .setProtectedHeader({
        alg: 'ECDH-ES',
        enc: 'A256GCM',
        typ: 'set-pin+jwe',
        kid: key.kid,
      })
      .encrypt(publicKey),
  )
  return { encryptedPin }
}

/** The service would refuse a number without a reason. */
const isPin = (pin: unknown): boolean => typeof pin === 'string' && /^[0-9]{4,12}$/.test(pin)

/** Whether a text can be a card's reference: ten digits, the first not 0. */
export const isPublicToken = (text: unknown): text is string =>
  typeof text === 'string' && /^[1-9][0-9]{9}$/.test(text)
