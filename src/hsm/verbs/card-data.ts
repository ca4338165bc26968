import { createPublicKey, randomBytes } from 'node:crypto'
import { encipherPaddedAesCbc } from '../../crypto/aes.ts'
import { sealJwe } from '../../crypto/jwe.ts'
import * as keyAgreement from '../../crypto/key-agreement.ts'
import { CryptoRefusal } from '../../crypto/refusal.ts'
import type * as cardData from '../contract/card-data.ts'
import * as catalogue from '../contract/catalogue.ts'
import type { Hsm } from '../contract/hsm.ts'
import type { KeyStore } from '../contract/stored-keys.ts'
import type { KeyEngine, PssKey, UnwrappingKey } from '../keys/key-engine.ts'
import { type KeyRing, type RingKey, referencedKey } from '../keys/key-ring.ts'
import { openPan } from './card-numbers.ts'
import { encryptedPinVerbs, numericDate } from './encrypted-pin.ts'
import { openPin } from './pins.ts'
import { makeCvv2 } from './verification.ts'

/** The verbs for card data to devices, and PINs from devices. */
export const cardDataVerbs = (
  engine: KeyEngine,
  ring: KeyRing,
  keyStore: KeyStore,
  pins: Pick<Hsm, 'importPin'>,
): cardData.CardDataHsm => ({
  ...publishedKeyVerbs(engine, ring, keyStore),
  ...sessionKeyVerbs(ring),
  ...deviceKeyVerbs(ring),
  ...encryptedPinVerbs(ring, pins),
})

const names = catalogue.keyNames.filter(
  (name): name is catalogue.DeviceKeyName =>
    catalogue.keyCatalogue[name].publication?.to === 'devices',
)

/** The verbs that generate and publish the card-data keys. */
const publishedKeyVerbs = (
  engine: KeyEngine,
  ring: KeyRing,
  keyStore: KeyStore,
): Pick<cardData.CardDataHsm, 'cardDataKeys' | 'generateCardDataKeys'> => ({
  async cardDataKeys() {
    // All keys or none: a device with only some of them could not use the service.
    for (const name of names) await ring.active(name)
    const versions = await Promise.all(names.map((name) => ring.versions(name)))
    return versions.flat().map((key) => describe(key))
  },
  async generateCardDataKeys(signal) {
    for (const keyName of names.filter(catalogue.isSlow)) {
      // Another process may have generated it meanwhile.
      await ring.refresh()
      const isThere = (await ring.versions(keyName)).length > 0
      if (isThere) continue
      const made = await engine.generate(catalogue.keyCatalogue[keyName].kind, 'N', signal)
      await keyStore.add({ keyName, keyVersion: 1, state: 'active', ...made })
      await ring.refresh()
    }
  },
})

/**
 * Caches the description of each key: the route needs no token, and must not export the key for
 * each call.
 */
const described = new WeakMap<RingKey<catalogue.DeviceKeyName>['key'], cardData.CardDataKey>()

function describe({ key, name, version }: RingKey<catalogue.DeviceKeyName>): cardData.CardDataKey {
  const known = described.get(key)
  if (known) return known
  const publicJwk = { ...key.publicJwk }
  const publicKey = createPublicKey({ key: publicJwk, format: 'jwk' })
  const { algorithm, use } = catalogue.keyCatalogue[name].publication
  const description = {
    keyId: catalogue.publishedKeyId(name, version),
    use,
    algorithm,
    publicJwk,
    publicPem: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
  }
  described.set(key, description)
  return description
}

/** The secrets of a card, with the wire's names. They are in clear, and only leave sealed. */
interface CardSecrets {
  readonly PAN: string
  readonly CVV: string
  /** `YYYY-MM`. */
  readonly expiryDate: string
  readonly PIN?: string
}

/** Opens the secrets of a card. */
async function openCardSecrets(
  ring: KeyRing,
  { card, cvk, expiry, pin }: cardData.CardDisclosure,
): Promise<CardSecrets> {
  const pan = await openPan(ring, card)
  const { key } = await referencedKey(ring, 'cvk', cvk)
  if (pin?.pinBlock === null) throw new Error('A PVV does not reveal its PIN.')
  return {
    PAN: pan.reveal(),
    CVV: await makeCvv2(key, pan, expiry),
    expiryDate: expiry.yearMonth(),
    ...(pin && { PIN: await openPin(ring, pan, pin.pinBlock, pin.pinKey) }),
  }
}

/** The validity of an answer in seconds. */
const lifeSeconds = 60

/** Seals card data to a device's fresh key, forward secret. */
const deviceKeyVerbs = (ring: KeyRing): Pick<cardData.CardDataHsm, 'importDeviceKey'> => ({
  async importDeviceKey(key, claims) {
    // Before the device's key is checked: a seal that is impossible must not be recorded.
    const signingKey = await ring.active('card-data-sign-ec')
    const jwk = parseDeviceJwk(key)
    if (!jwk) return null
    let agreement: keyAgreement.EphemeralAgreement
    try {
      // With a key pair for this answer only.
      agreement = keyAgreement.agreeEphemerally(keyAgreement.readAgreementJwk(jwk))
    } catch (error) {
      if (error instanceof CryptoRefusal) return null
      throw error
    }
    const cnf = { jkt: keyAgreement.jwkThumbprint(jwk) }
    return {
      async seal(disclosure) {
        const jws = await signCard(ring, signingKey, disclosure, { ...claims, cnf })
        return sealJwe(agreement, 'JWT', Buffer.from(jws))
      },
    }
  },
})

function parseDeviceJwk({
  crv,
  kty,
  x,
  y,
}: cardData.DeviceKeyJwk): keyAgreement.AgreementJwk | null {
  if (kty === 'EC' && crv === 'P-256' && y !== undefined) return { kty, crv, x, y }
  return kty === 'OKP' && crv === 'X25519' && y === undefined ? { kty, crv, x } : null
}

/** Composes a JWS in compact form (RFC 7515 3.1). */
async function signCard(
  ring: KeyRing,
  { key, version }: RingKey<'card-data-sign-ec'>,
  disclosure: cardData.CardDisclosure,
  { cnf, issuer, nonce }: cardData.DeviceKeyClaims & { readonly cnf: { readonly jkt: string } },
): Promise<string> {
  const iat = numericDate(disclosure.at)
  const kid = catalogue.publishedKeyId('card-data-sign-ec', version)
  const header = { alg: 'ES256', typ: 'card-data+jwt', kid }
  const claims = {
    iss: issuer,
    sub: disclosure.card.publicToken,
    nonce,
    iat,
    exp: iat + lifeSeconds,
    cnf,
    card: await openCardSecrets(ring, disclosure),
  }
  const signed = `${encode(header)}.${encode(claims)}`
  const signature = await key.sign(Buffer.from(signed))
  return `${signed}.${Buffer.from(signature).toString('base64url')}`
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

const sessionKeyLength = 32
const ivLength = 16

/** Seals card data under a session key from a device, as existing clients expect it. */
const sessionKeyVerbs = (ring: KeyRing): Pick<cardData.CardDataHsm, 'importSessionKey'> => ({
  async importSessionKey(key) {
    // Before the session key is checked: a seal that is impossible must not be recorded.
    const { key: signingKey } = await ring.active('card-data-sign')
    await ring.active('card-data-wrap')
    const wrapKeys = (await ring.versions('card-data-wrap')).map((version) => version.key)
    const sessionKey = await unwrapSessionKey(wrapKeys, key)
    return sessionKey && { seal: (given) => seal(ring, signingKey, sessionKey, given) }
  },
})

/**
 * Decrypts the session key, or returns null. Each version of the wrap key does its work for any
 * input, so that the time does not reveal what was wrong.
 */
async function unwrapSessionKey(
  wrapKeys: readonly UnwrappingKey[],
  key: string,
): Promise<Uint8Array | null> {
  const wrapped = Buffer.from(key, 'base64')
  const isCanonical = wrapped.toString('base64') === key
  let found: Uint8Array | null = null
  // One after the other, so that one call does not use a thread for each version of the key.
  for (const wrapKey of wrapKeys) {
    // A ciphertext is a number less than the modulus, with as many bytes (RFC 8017 7.1.2, step 1).
    const modulus = Buffer.from(wrapKey.publicJwk.n, 'base64url')
    const isFit =
      isCanonical && wrapped.length === modulus.length && Buffer.compare(wrapped, modulus) < 0
    // Decrypting this value fails, with as much work as for any other.
    const unfit = randomBytes(modulus.length).fill(0, 0, 1)
    const opened = await wrapKey.unwrap(isFit ? wrapped : unfit)
    if (isFit && opened?.length === sessionKeyLength) found ??= opened
  }
  return found
}

async function seal(
  ring: KeyRing,
  signingKey: PssKey,
  sessionKey: Uint8Array,
  disclosure: cardData.CardDisclosure,
): Promise<cardData.SessionSealed> {
  const { PAN, CVV, expiryDate, PIN } = await openCardSecrets(ring, disclosure)
  const { publicToken } = disclosure.card
  const iat = numericDate(disclosure.at)
  const clear = JSON.stringify({ PAN, CVV, expiryDate, publicToken, iat, PIN })
  const iv = randomBytes(ivLength)
  const encryptedPayload = encipherPaddedAesCbc(sessionKey, iv, Buffer.from(clear))
  const signatureOfPayloadAndIv = await signingKey.sign(Buffer.concat([encryptedPayload, iv]))
  return { iv, encryptedPayload, signatureOfPayloadAndIv }
}
