import { accountLength, buildPan, Pan } from '../domain/pan.ts'
import type { CardReference, Hsm } from './hsm.ts'
import type { KeyRing } from './key-ring.ts'
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
      encryptedPan: await seal(ring, 'pan', publicToken, Buffer.from(pan.reveal())),
      panFingerprint: await ring.active('pan-fingerprint').key.mac(Buffer.from(pan.reveal())),
      maskedPan: pan.masked,
      cvk: activeCvk(ring, cvk),
    }
  },
  fingerprintPan: (pan) =>
    Promise.all(
      ring.versions('pan-fingerprint').map(({ key }) => key.mac(Buffer.from(pan.reveal()))),
    ),
})

/** The PAN of a card, bound to its token: a PAN moved to another card's row does not open. */
export const openPan = async (
  ring: KeyRing,
  { encryptedPan, publicToken }: CardReference,
): Promise<Pan> => new Pan((await open(ring, 'pan', publicToken, encryptedPan)).toString())

function activeCvk(ring: KeyRing, cvk: string): string {
  if (cvk !== 'cvk') throw new Error(`A product names an unknown key: ${cvk}.`)
  return ring.active(cvk).reference
}

function drawPublicToken(drawDigits: DigitSource): string {
  const token = drawDigits(10)
  return token.startsWith('0') ? drawPublicToken(drawDigits) : token
}
