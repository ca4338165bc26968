import { diffieHellman, type KeyObject } from 'node:crypto'
import { readJwe } from '../../src/crypto/jwe.ts'
import { orRefuse, refuse } from '../../src/crypto/refusal.ts'

/** A JWE that opened. */
interface OpenedJwe {
  readonly header: Readonly<Record<string, unknown>>
  readonly plaintext: Buffer
}

/**
 * Opens a compact JWE by a private key that is at hand. The product agrees on the secret in its
 * HSM, and all else is the same.
 *
 * @param privateKey EC on P-256.
 * @param required header members that must have exactly these values, such as `typ`.
 * @throws CryptoRefusal `jwe_refused`, whatever is wrong.
 */
export const openJwe = (
  jwe: string,
  privateKey: KeyObject,
  required: Readonly<Record<string, string>> = {},
): OpenedJwe =>
  orRefuse('jwe_refused', () => {
    const { ephemeralKey: publicKey, header, open } = readJwe(jwe, required)
    if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') refuse('jwe_refused')
    return { header, plaintext: open(diffieHellman({ privateKey, publicKey })) }
  })
