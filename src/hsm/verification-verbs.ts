import { cvv2ServiceCode, generateCvv } from '../crypto/cvv.ts'
import { areEqualDigits } from '../crypto/equal-bytes.ts'
import { decipherPinBlock, encipherPinBlock } from '../crypto/pin-block.ts'
import { decipherPinBlockFormat4 } from '../crypto/pin-block-format-4.ts'
import { generatePvv } from '../crypto/pvv.ts'
import { CryptoRefusal } from '../crypto/refusal.ts'
import type { Pan } from '../domain/pan.ts'
import { openPan } from './card-number-verbs.ts'
import type { EncryptedPinBlock, Hsm, PinBlockFormat, StoredPin } from './hsm.ts'
import type { KeyRing } from './key-ring.ts'
import { pvki } from './pin-verbs.ts'
import type { ZoneKeys } from './zone-key-verbs.ts'

type VerificationVerbs = Pick<
  Hsm,
  'isPinBlockReadable' | 'verifyPin' | 'verifyCvv2' | 'generatePinBlock'
>

const formats: Record<PinBlockFormat, 0 | 1 | 3 | 4> = {
  ISO_FORMAT_0: 0,
  ISO_FORMAT_1: 1,
  ISO_FORMAT_3: 3,
  ISO_FORMAT_4: 4,
}

/** Compares what a card network brings with what the card has. */
export const verificationVerbs = (ring: KeyRing, zoneKeys: ZoneKeys): VerificationVerbs => ({
  async isPinBlockReadable(card, pinBlock) {
    return readPin(zoneKeys, openPan(ring, card), pinBlock) !== null
  },
  async verifyPin(card, stored, pinLength, pinBlock) {
    const pan = openPan(ring, card)
    const pin = readPin(zoneKeys, pan, pinBlock)
    // A PVV sees the first four digits only: a longer PIN that begins with them is another one.
    return pin?.length === pinLength && isPinOf(ring, pan, stored, pin)
  },
  async verifyCvv2(card, cvk, expiry, cvv2) {
    const due = generateCvv(Buffer.from(ring.referenced(cvk).key.reveal()), {
      pan: openPan(ring, card).reveal(),
      // The profile of this service's CVKs: as printed on the card, month first.
      expiry: expiry.mmyy(),
      serviceCode: cvv2ServiceCode,
    })
    return areEqualDigits(due, cvv2)
  },
  async generatePinBlock(card, pin, format, zoneKeyBlock) {
    const key = zoneKeys(zoneKeyBlock).reveal()
    const context = { format: formats[format], pan: openPan(ring, card).reveal(), key }
    return { format, bytes: encipherPinBlock(pin.reveal(), context), zoneKeyBlock }
  },
})

/** The PIN in a block, or null, whatever is wrong with the block or its key. */
function readPin(zoneKeys: ZoneKeys, pan: Pan, pinBlock: EncryptedPinBlock): string | null {
  const key = zoneKeys(pinBlock.zoneKeyBlock).reveal()
  try {
    const context = { format: formats[pinBlock.format], pan: pan.reveal(), key }
    return decipherPinBlock(pinBlock.bytes, context)
  } catch (error) {
    if (error instanceof CryptoRefusal) return null
    throw error
  }
}

function isPinOf(ring: KeyRing, pan: Pan, stored: StoredPin, pin: string): boolean {
  const key = ring.referenced(stored.pinKey).key.reveal()
  const due =
    stored.pinBlock === null
      ? generatePvv(key, { pan: pan.reveal(), pvki, pin })
      : decipherPinBlockFormat4(stored.pinBlock, pan.reveal(), key)
  const told = stored.pinBlock === null ? stored.pvv : pin
  return areEqualDigits(due, told)
}
