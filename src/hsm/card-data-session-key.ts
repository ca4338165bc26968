import { randomBytes } from 'node:crypto'
import { encipherPaddedAesCbc } from '../crypto/padded-aes-cbc.ts'
import type { CardDataHsm, CardDisclosure, SessionSealed } from './card-data-hsm.ts'
import { numericDate, openCardSecrets } from './card-data-secrets.ts'
import type { KeyRing } from './key-ring.ts'
import type { PssKey, UnwrappingKey } from './working-key.ts'

const sessionKeyLength = 32
const ivLength = 16

/** Seals card data under a session key that a device made, as existing clients speak it. */
export const sessionKeyVerbs = (ring: KeyRing): Pick<CardDataHsm, 'importSessionKey'> => ({
  async importSessionKey(key) {
    // Before the session key is looked at: a seal that could not be made must not be on record.
    const { key: signingKey } = await ring.active('card-data-sign')
    await ring.active('card-data-wrap')
    const wrapKeys = (await ring.versions('card-data-wrap')).map((version) => version.key)
    const sessionKey = await unwrapSessionKey(wrapKeys, key)
    return sessionKey && { seal: (given) => seal(ring, signingKey, sessionKey, given) }
  },
})

/**
 * The session key, or null. Each version of the wrap key does its work, whatever came: how long it
 * takes tells nobody what was wrong, or how far it was right.
 */
async function unwrapSessionKey(
  wrapKeys: readonly UnwrappingKey[],
  key: string,
): Promise<Uint8Array | null> {
  const wrapped = Buffer.from(key, 'base64')
  const isCanonical = wrapped.toString('base64') === key
  let found: Uint8Array | null = null
  // One after the other: one call must not take as many threads as the key has versions.
  for (const wrapKey of wrapKeys) {
    const isFit = isCanonical && fits(wrapped, modulusOf(wrapKey))
    const opened = await wrapKey.unwrap(isFit ? wrapped : unfitFor(wrapKey))
    if (isFit && opened?.length === sessionKeyLength) found ??= opened
  }
  return found
}

/** A ciphertext is a number below the modulus, and as long (RFC 8017 7.1.2, step 1). */
const fits = (wrapped: Buffer, modulus: Buffer): boolean =>
  wrapped.length === modulus.length && Buffer.compare(wrapped, modulus) < 0

const modulusOf = ({ publicJwk }: UnwrappingKey): Buffer => Buffer.from(publicJwk.n, 'base64url')

/** A ciphertext that nothing comes of, for as much work as with any other. */
function unfitFor(wrapKey: UnwrappingKey): Buffer {
  const bytes = randomBytes(modulusOf(wrapKey).length)
  bytes[0] = 0
  return bytes
}

async function seal(
  ring: KeyRing,
  signingKey: PssKey,
  sessionKey: Uint8Array,
  disclosure: CardDisclosure,
): Promise<SessionSealed> {
  const { PAN, CVV, expiryDate, PIN } = await openCardSecrets(ring, disclosure)
  const { publicToken } = disclosure.card
  const iat = numericDate(disclosure.at)
  const clear = JSON.stringify({ PAN, CVV, expiryDate, publicToken, iat, PIN })
  const iv = randomBytes(ivLength)
  const encryptedPayload = encipherPaddedAesCbc(sessionKey, iv, Buffer.from(clear))
  const signatureOfPayloadAndIv = await signingKey.sign(Buffer.concat([encryptedPayload, iv]))
  return { iv, encryptedPayload, signatureOfPayloadAndIv }
}
