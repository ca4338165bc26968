import { isPublicToken, type PublicToken } from '../../domain/identifiers.ts'
import { accountLength, buildPan, Pan } from '../../domain/pan.ts'
import type { CardReference, PanFingerprint } from '../contract/card.ts'
import type { Hsm } from '../contract/hsm.ts'
import type { KeyEngine } from '../keys/key-engine.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { open, seal } from './records.ts'

/** Generates card numbers and enciphers their PANs. */
export const cardNumberVerbs = (
  ring: KeyRing,
  drawDigits: DigitSource,
): Pick<Hsm, 'generateCardNumber' | 'fingerprintPan'> => ({
  async generateCardNumber(bin, cvk, givenToken) {
    if (cvk !== 'cvk') throw new Error(`A product names an unknown key: ${cvk}.`)
    const publicToken = givenToken ?? (await drawPublicToken(drawDigits))
    const pan = buildPan(bin, await drawDigits(accountLength(bin)))
    return {
      publicToken,
      encryptedPan: await seal(ring, 'pan', publicToken, Buffer.from(pan.reveal())),
      panFingerprints: await computeFingerprints(ring, pan),
      maskedPan: pan.masked,
      cvk: (await ring.active(cvk)).reference,
    }
  },
  fingerprintPan: (pan) => computeFingerprints(ring, pan),
})

/** Computes the fingerprints of a PAN under every version for lookups, the active version first. */
export async function computeFingerprints(ring: KeyRing, pan: Pan): Promise<PanFingerprint[]> {
  const versions = await ring.versions('pan-fingerprint')
  return Promise.all(
    versions.map(async ({ key, version }) => ({
      fingerprint: await key.mac(Buffer.from(pan.reveal())),
      keyVersion: version,
    })),
  )
}

/**
 * Opens the PAN of a card. It is bound to the token, so a PAN moved to another card's row does not
 * open.
 */
export const openPan = async (
  ring: KeyRing,
  { encryptedPan, publicToken }: CardReference,
): Promise<Pan> => new Pan((await open(ring, 'pan', publicToken, encryptedPan)).toString())

async function drawPublicToken(drawDigits: DigitSource): Promise<PublicToken> {
  const digits = await drawDigits(10)
  return isPublicToken(digits) ? digits : drawPublicToken(drawDigits)
}

/** Draws a number of decimal digits. */
export type DigitSource = (count: number) => string | Promise<string>

/** The greatest multiple of ten up to 256. Bytes above it would favour the low digits. */
const fairBytes = 250

/** Draws digits without bias from unpredictable bytes. */
export const randomDigits =
  (random: KeyEngine['random']): DigitSource =>
  async (count) => {
    let digits = ''
    while (digits.length < count) {
      // A few more than needed, because one byte in 43 is discarded.
      const bytes = Array.from(await random(count + 4)).filter((byte) => byte < fairBytes)
      digits += bytes.map((byte) => byte % 10).join('')
    }
    return digits.slice(0, count)
  }
