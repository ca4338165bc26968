import { constants, createPrivateKey, type KeyObject, privateDecrypt } from 'node:crypto'
import { removeOaepPadding } from '../../src/crypto/rsa-oaep-padding.ts'
import { bytes, type Operation, object } from './inputs.ts'

/** The operations on RSA: the bare operation is the token's or OpenSSL's, the padding ours. */
export const rsaOperations: Readonly<Record<string, Operation>> = {
  rsaOaepDecrypt: (inputs) => {
    const key = createPrivateKey({ key: object(inputs, 'jwk'), format: 'jwk' })
    const label = inputs.label === undefined ? undefined : bytes(inputs, 'label')
    const message = removeOaepPadding(rsa(key, bytes(inputs, 'ciphertext')), label)
    return { message, plaintext: message }
  },
}

function rsa(key: KeyObject, ciphertext: Buffer): Buffer {
  try {
    return privateDecrypt({ key, padding: constants.RSA_NO_PADDING }, ciphertext)
  } catch {
    throw new RangeError('not a ciphertext of the key')
  }
}
