import { accountLength, buildPan, Pan } from '../domain/pan.ts'
import type { CardReference, Hsm, PanFingerprint } from './hsm.ts'
import type { KeyRing } from './key-ring.ts'
import type { DigitSource } from './random-digits.ts'
import { open, seal } from './sealing.ts'

/** Draws card numbers and keeps their PANs enciphered. */
export const cardNumberVerbs = (
  ring: KeyRing,
  drawDigits: DigitSource,
): Pick<Hsm, 'generateCardNumber' | 'fingerprintPan'> => ({
  async generateCardNumber(bin, cvk) {
    const publicToken = await drawPublicToken(drawDigits)
    const pan = buildPan(bin, await drawDigits(accountLength(bin)))
    return {
      publicToken,
      encryptedPan: await seal(ring, 'pan', publicToken, Buffer.from(pan.reveal())),
      panFingerprints: await fingerprintsOf(ring, pan),
      maskedPan: pan.masked,
      cvk: await activeCvk(ring, cvk),
    }
  },
  fingerprintPan: (pan) => fingerprintsOf(ring, pan),
})

/** The fingerprints of a PAN under every version that a card is found by, the active one first. */
export async function fingerprintsOf(ring: KeyRing, pan: Pan): Promise<PanFingerprint[]> {
  const versions = await ring.versions('pan-fingerprint')
  return Promise.all(
    versions.map(async ({ key, version }) => ({
      fingerprint: await key.mac(Buffer.from(pan.reveal())),
      keyVersion: version,
    })),
  )
}

/** The PAN of a card, bound to its token: a PAN moved to another card's row does not open. */
export const openPan = async (
  ring: KeyRing,
  { encryptedPan, publicToken }: CardReference,
): Promise<Pan> => new Pan((await open(ring, 'pan', publicToken, encryptedPan)).toString())

async function activeCvk(ring: KeyRing, cvk: string): Promise<string> {
  if (cvk !== 'cvk') throw new Error(`A product names an unknown key: ${cvk}.`)
  return (await ring.active(cvk)).reference
}

async function drawPublicToken(drawDigits: DigitSource): Promise<string> {
  const token = await drawDigits(10)
  return token.startsWith('0') ? drawPublicToken(drawDigits) : token
}
