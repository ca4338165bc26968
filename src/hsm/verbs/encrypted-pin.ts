import { createHash } from 'node:crypto'
import { readJwe } from '../../crypto/jwe.ts'
import { orNull } from '../../crypto/refusal.ts'
import { type Pin, parsePin } from '../../domain/pin.ts'
import type { CardReference, PinRules } from '../contract/card.ts'
import type { CardDataHsm } from '../contract/card-data.ts'
import { publishedKeyId } from '../contract/catalogue.ts'
import type { Hsm } from '../contract/hsm.ts'
import type { KeyRing, RingKey } from '../keys/key-ring.ts'

/** The maximum age of an envelope in seconds, and the maximum lead of the device's clock. */
const pastSeconds = 300
const aheadSeconds = 60

const type = 'set-pin+jwe'
const headerMembers = ['alg', 'enc', 'epk', 'kid', 'typ']
const envelopeMembers = 'iat,jti,pin,publicToken'

type PinKey = RingKey<'card-data-pin'>

/** The content of a device's envelope. */
interface Envelope {
  readonly pin: Pin
  readonly publicToken: string
  readonly jti: string
  /** Seconds since 1970, possibly with a fraction. */
  readonly iat: number
}

/** Imports PINs that were sealed on a device. */
export const encryptedPinVerbs = (
  ring: KeyRing,
  { importPin }: Pick<Hsm, 'importPin'>,
): Pick<CardDataHsm, 'importEncryptedPin'> => ({
  async importEncryptedPin(card, rules, encryptedPin, at) {
    await ring.active('card-data-pin')
    const envelope = await openEnvelope(await ring.versions('card-data-pin'), encryptedPin)
    if (!envelope || !isFor(envelope, card, rules, at)) {
      return { pin: null, refusal: 'invalid_encrypted_pin' }
    }
    const imported = await importPin(card, rules, envelope.pin)
    if (!imported.pin) return { pin: null, refusal: 'weak_pin' }
    const { chipPin, pin } = imported
    const jtiHash = createHash('sha256').update(envelope.jti).digest()
    const expiresAt = new Date((Math.ceil(envelope.iat) + pastSeconds + 1) * 1000)
    return { pin, chipPin, envelope: { jtiHash, expiresAt }, refusal: null }
  },
})

/** Seconds since 1970, as in JWTs (RFC 7519 2). */
export const numericDate = (at: Date): number => Math.floor(at.getTime() / 1000)

function isFor(
  { iat, pin, publicToken }: Envelope,
  card: CardReference,
  { pinLength }: PinRules,
  at: Date,
): boolean {
  const now = numericDate(at)
  const isNow = iat >= now - pastSeconds && iat <= now + aheadSeconds
  return isNow && publicToken === card.publicToken && pin.length === pinLength
}

/** Opens the envelope in a JWE to one of the keys, or returns null for any fault. */
async function openEnvelope(keys: readonly PinKey[], jwe: string): Promise<Envelope | null> {
  const read = orNull(() => readJwe(jwe, { typ: type }))
  if (!read || !Object.keys(read.header).every((name) => headerMembers.includes(name))) return null
  const { kid } = read.header
  for (const { key, version } of keys) {
    if (kid !== undefined && kid !== publishedKeyId('card-data-pin', version)) continue
    const sharedSecret = await key.agree(read.ephemeralKey)
    const plaintext = orNull(() => read.open(sharedSecret))
    if (plaintext) return readEnvelope(plaintext)
  }
  return null
}

function readEnvelope(plaintext: Uint8Array): Envelope | null {
  const { iat, jti, pin: digits, publicToken } = parseEnvelope(plaintext)
  const pin = typeof digits === 'string' ? parsePin(digits) : null
  const isJti = typeof jti === 'string' && jti.length > 0 && jti.length <= 255
  // A NumericDate may have a fraction (RFC 7519 section 2).
  const isInstant = Number.isSafeInteger(Math.floor(Number(iat))) && typeof iat === 'number'
  const isEnvelope = pin && isJti && isInstant && typeof publicToken === 'string'
  return isEnvelope ? { pin, publicToken, jti, iat } : null
}

/** Parses the members of an envelope; returns an empty object if it has others. */
function parseEnvelope(plaintext: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(plaintext))
    const isObject = typeof value === 'object' && value !== null
    return isObject && Object.keys(value).sort().join() === envelopeMembers ? { ...value } : {}
  } catch {
    return {}
  }
}
