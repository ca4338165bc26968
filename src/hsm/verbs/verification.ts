import { LRUCache } from 'lru-cache'
import { cvv2ServiceCode, generateCvv } from '../../crypto/cvv.ts'
import { encipherPinBlock } from '../../crypto/pin-block.ts'
import { areEqualDigits } from '../../crypto/refusal.ts'
import type { Expiry } from '../../domain/calendar.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { Pan } from '../../domain/pan.ts'
import { Pin } from '../../domain/pin.ts'
import type { CardReference } from '../contract/card.ts'
import * as catalogue from '../contract/catalogue.ts'
import { type Hsm, OpenedPinBlock } from '../contract/hsm.ts'
import type { BlockKey, CvvKey, KeyEngine } from '../keys/key-engine.ts'
import { type KeyRing, referencedKey } from '../keys/key-ring.ts'
import { drawFitKey } from '../keys/key-strength.ts'
import { openPan } from './card-numbers.ts'
import { makePvv, openPin, readPinBlock } from './pins.ts'

type VerificationVerbs = Pick<Hsm, 'openPinBlock' | 'verifyPin' | 'verifyCvv2' | 'generatePinBlock'>

/** What stands in a PIN block that was opened. */
interface PinBlockContent {
  /** Of the card that it was opened for; null where that was named by its PAN alone. */
  readonly publicToken: PublicToken | null
  readonly pan: Pan
  readonly pin: Pin
}

/** Compares what a card network brings with what the card has. */
export function verificationVerbs(ring: KeyRing, zoneKeys: ZoneKeys): VerificationVerbs {
  // Apart from what the caller is given, so that no way leads from there to a PIN.
  const contents = new WeakMap<OpenedPinBlock, PinBlockContent>()
  const isFor = async (content: PinBlockContent, card: CardReference): Promise<boolean> =>
    content.publicToken === null
      ? areEqualDigits((await openPan(ring, card)).reveal(), content.pan.reveal())
      : content.publicToken === card.publicToken
  return {
    async openPinBlock(card, { bytes, format, zoneKeyBlock }) {
      const pan = 'pan' in card ? card.pan : await openPan(ring, card)
      const publicToken = 'pan' in card ? null : card.publicToken
      const digits = await readPinBlock(format, await zoneKeys(zoneKeyBlock), bytes, pan)
      if (digits === null) return null
      const opened = new OpenedPinBlock()
      contents.set(opened, { publicToken, pan, pin: new Pin(digits) })
      return opened
    },
    async verifyPin(card, stored, pinLength, opened) {
      const content = contents.get(opened)
      if (!content || !(await isFor(content, card))) {
        throw new Error('The PIN block was not opened here for this card.')
      }
      const { pan, pin } = content
      // A PVV sees the first four digits only: a longer PIN that begins with them is another one.
      if (pin.length !== pinLength) return false
      if (stored.pinBlock !== null) {
        const kept = await openPin(ring, pan, stored.pinBlock, stored.pinKey)
        return areEqualDigits(kept, pin.reveal())
      }
      const { key } = await referencedKey(ring, 'pvk', stored.pinKey)
      return areEqualDigits(await makePvv(key, pan, pin.reveal()), stored.pvv)
    },
    async verifyCvv2(card, cvk, expiry, cvv2) {
      const { key } = await referencedKey(ring, 'cvk', cvk)
      return areEqualDigits(await makeCvv2(key, await openPan(ring, card), expiry), cvv2.reveal())
    },
    async generatePinBlock(card, pin, format, zoneKeyBlock) {
      const pan = await openPan(ring, card)
      const key = await zoneKeys(zoneKeyBlock)
      const bytes = await encipherPinBlock(format, key, pin.reveal(), { pan: pan.reveal() })
      return { format, bytes, zoneKeyBlock }
    },
  }
}

/** The card's CVV2, three digits. */
export const makeCvv2 = (cvk: CvvKey, pan: Pan, expiry: Expiry): Promise<string> =>
  generateCvv(cvk, {
    pan: pan.reveal(),
    // The profile of this service's CVKs: as printed on the card, month first.
    expiry: expiry.mmyy(),
    serviceCode: cvv2ServiceCode,
  })

type ZoneKeyKind = catalogue.KeyKind & { readonly action: 'blocks' }

/** What a zone key must be (X9.143, tables 5 to 8). The simulator enciphers under them too. */
const common = { purpose: 'zone', keyUsage: 'P0', modeOfUse: 'B', action: 'blocks' } as const
const kinds: Record<catalogue.BlockCipher, ZoneKeyKind> = {
  TDES: { ...common, algorithm: catalogue.codesByCipher.TDES, lengthBytes: 16 },
  AES: { ...common, algorithm: catalogue.codesByCipher.AES, lengthBytes: 32 },
}

/** Takes in keys that card networks encipher PIN blocks under. */
export const zoneKeyVerbs = (
  engine: KeyEngine,
): Pick<Hsm, 'generateTestZoneKey' | 'importClearZoneKey'> => ({
  generateTestZoneKey: (cipher) => drawFitKey(kinds[cipher], engine.random),
  importClearZoneKey: (cipher, key) => engine.import(kinds[cipher], key),
})

/** Zone keys in use at once, opened: a network has a handful. */
const openedMax = 1_000

/** Finds the zone key in a key block. */
type ZoneKeys = (keyBlock: string) => Promise<BlockKey>

/** Opens each key block once. @throws Error when a block is not ours, or is for another use. */
export function openZoneKeys(engine: KeyEngine): ZoneKeys {
  const opened = new LRUCache<string, BlockKey>({ max: openedMax })
  return async (keyBlock) => {
    const known = opened.get(keyBlock)
    if (known) return known
    const { algorithm, modeOfUse } = engine.readKeyAttributes(keyBlock)
    const kind = kinds[catalogue.parseCipher(algorithm)]
    // A network's own key may be for deciphering alone.
    const zoneKey = await engine.open(modeOfUse === 'D' ? { ...kind, modeOfUse } : kind, keyBlock)
    opened.set(keyBlock, zoneKey)
    return zoneKey
  }
}
