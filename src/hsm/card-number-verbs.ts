import { createHmac } from 'node:crypto'
import { accountLength, buildPan, Pan } from '../domain/pan.ts'
import type { CardReference, Hsm } from './hsm.ts'
import type { KeyRing, RingKey } from './key-ring.ts'
import { isKeyName } from './key-table.ts'
import type { DigitSource } from './random-digits.ts'
import { open, seal } from './sealing.ts'

/** Draws card numbers and keeps their PANs enciphered. */
export const cardNumberVerbs = (
  ring: KeyRing,
  drawDigits: DigitSource,
): Pick<Hsm, 'generateCardNumber' | 'fingerprintPan'> => ({
  async generateCardNumber(bin, cvk) {
    const publicToken = drawPublicToken(drawDigits)
    const pan = buildPan(bin, drawDigits(accountLength(bin)))
    return {
      publicToken,
      encryptedPan: seal(ring, 'pan', publicToken, Buffer.from(pan.reveal())),
      panFingerprint: fingerprint(ring.active('pan-fingerprint'), pan),
      maskedPan: pan.masked,
      cvk: activeReference(ring, cvk),
    }
  },
  async fingerprintPan(pan) {
    return ring.versions('pan-fingerprint').map((key) => fingerprint(key, pan))
  },
})

/** The PAN of a card, bound to its token: a PAN moved to another card's row does not open. */
export const openPan = (ring: KeyRing, { encryptedPan, publicToken }: CardReference): Pan =>
  new Pan(open(ring, 'pan', publicToken, encryptedPan).toString())

/** The active version of a key that a product names. */
export function activeReference(ring: KeyRing, keyName: string): string {
  if (!isKeyName(keyName)) throw new Error(`A product names an unknown key: ${keyName}.`)
  return ring.active(keyName).reference
}

const fingerprint = ({ key }: RingKey, pan: Pan): Buffer =>
  createHmac('sha256', key.reveal()).update(pan.reveal()).digest()

function drawPublicToken(drawDigits: DigitSource): string {
  const token = drawDigits(10)
  return token.startsWith('0') ? drawPublicToken(drawDigits) : token
}
