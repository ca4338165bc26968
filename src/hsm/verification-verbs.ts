import { cvv2ServiceCode, cvvBlocks, cvvOf } from '../crypto/cvv.ts'
import { areEqualDigits } from '../crypto/equal-bytes.ts'
import { xor } from '../crypto/xor.ts'
import type { Expiry } from '../domain/expiry.ts'
import type { Pan } from '../domain/pan.ts'
import { openPan } from './card-number-verbs.ts'
import type { EncryptedPinBlock, Hsm, StoredPin } from './hsm.ts'
import { type KeyRing, referencedKey } from './key-ring.ts'
import { decipherPinBlock, encipherPinBlock } from './pin-blocks.ts'
import { makePvv, openPin } from './pin-verbs.ts'
import type { CvvKey } from './working-key.ts'
import type { ZoneKeys } from './zone-key-verbs.ts'

type VerificationVerbs = Pick<
  Hsm,
  'isPinBlockReadable' | 'verifyPin' | 'verifyCvv2' | 'generatePinBlock'
>

/** Compares what a card network brings with what the card has. */
export const verificationVerbs = (ring: KeyRing, zoneKeys: ZoneKeys): VerificationVerbs => ({
  async isPinBlockReadable(card, pinBlock) {
    return (await readPin(zoneKeys, await openPan(ring, card), pinBlock)) !== null
  },
  async verifyPin(card, stored, pinLength, pinBlock) {
    const pan = await openPan(ring, card)
    const pin = await readPin(zoneKeys, pan, pinBlock)
    // A PVV sees the first four digits only: a longer PIN that begins with them is another one.
    return pin?.length === pinLength && isPinOf(ring, pan, stored, pin)
  },
  async verifyCvv2(card, cvk, expiry, cvv2) {
    const { key } = await referencedKey(ring, 'cvk', cvk)
    return areEqualDigits(await makeCvv2(key, await openPan(ring, card), expiry), cvv2)
  },
  async generatePinBlock(card, pin, format, zoneKeyBlock) {
    const pan = await openPan(ring, card)
    const key = await zoneKeys(zoneKeyBlock)
    const bytes = await encipherPinBlock(format, key, pin.reveal(), pan.reveal())
    return { format, bytes, zoneKeyBlock }
  },
})

/** The PIN in a block, or null, whatever is wrong with the block. */
const readPin = async (
  zoneKeys: ZoneKeys,
  pan: Pan,
  { bytes, format, zoneKeyBlock }: EncryptedPinBlock,
): Promise<string | null> =>
  decipherPinBlock(format, await zoneKeys(zoneKeyBlock), bytes, pan.reveal())

async function isPinOf(ring: KeyRing, pan: Pan, stored: StoredPin, pin: string): Promise<boolean> {
  if (stored.pinBlock !== null) {
    return areEqualDigits(await openPin(ring, pan, stored.pinBlock, stored.pinKey), pin)
  }
  const { key } = await referencedKey(ring, 'pvk', stored.pinKey)
  return areEqualDigits(await makePvv(key, pan, pin), stored.pvv)
}

/** The card's CVV2, three digits. */
export async function makeCvv2(cvk: CvvKey, pan: Pan, expiry: Expiry): Promise<string> {
  const [first, second] = cvvBlocks({
    pan: pan.reveal(),
    // The profile of this service's CVKs: as printed on the card, month first.
    expiry: expiry.mmyy(),
    serviceCode: cvv2ServiceCode,
  })
  return cvvOf(await cvk.encipherWithBoth(xor(await cvk.encipherWithA(first), second)))
}
