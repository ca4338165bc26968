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

/** The content of an opened PIN block. */
interface PinBlockContent {
  /** The card of the block; null if it was identified by its PAN only. */
  readonly publicToken: PublicToken | null
  readonly pan: Pan
  readonly pin: Pin
}

/** Compares the values from a card network with those of the card. */
export function verificationVerbs(ring: KeyRing, zoneKeys: ZoneKeys): VerificationVerbs {
  // Separate from the object that the caller gets, which therefore gives no access to the PIN.
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
      // A PVV covers the first four digits only: a longer PIN with the same first digits is another
      // PIN.
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

/** Generates the card's CVV2, three digits. */
export const makeCvv2 = (cvk: CvvKey, pan: Pan, expiry: Expiry): Promise<string> =>
  generateCvv(cvk, {
    pan: pan.reveal(),
    // The profile of this service's CVKs: month first, as printed on the card.
    expiry: expiry.mmyy(),
    serviceCode: cvv2ServiceCode,
  })

type ZoneKeyKind = catalogue.KeyKind & { readonly action: 'blocks' }

/** The attributes of a zone key (X9.143, tables 5 to 8). The simulator enciphers with it, too. */
const common = { purpose: 'zone', keyUsage: 'P0', modeOfUse: 'B', action: 'blocks' } as const
const kinds: Record<catalogue.BlockCipher, ZoneKeyKind> = {
  TDES: { ...common, algorithm: catalogue.codesByCipher.TDES, lengthBytes: 16 },
  AES: { ...common, algorithm: catalogue.codesByCipher.AES, lengthBytes: 32 },
}

/** Imports the keys with which card networks encipher PIN blocks. */
export const zoneKeyVerbs = (
  engine: KeyEngine,
): Pick<Hsm, 'generateTestZoneKey' | 'importClearZoneKey'> => ({
  generateTestZoneKey: (cipher) => drawFitKey(kinds[cipher], engine.random),
  importClearZoneKey: (cipher, key) => engine.import(kinds[cipher], key),
})

/** The maximum number of opened zone keys: a network has a handful. */
const openedMax = 1_000

/** Finds the zone key in a key block. */
type ZoneKeys = (keyBlock: string) => Promise<BlockKey>

/**
 * Opens each key block once.
 * @throws Error for a foreign block, or a key with another use.
 */
export function openZoneKeys(engine: KeyEngine): ZoneKeys {
  const opened = new LRUCache<string, BlockKey>({ max: openedMax })
  return async (keyBlock) => {
    const known = opened.get(keyBlock)
    if (known) return known
    const { algorithm, modeOfUse } = engine.readKeyAttributes(keyBlock)
    const kind = kinds[catalogue.parseCipher(algorithm)]
    // A network's own key may be for deciphering only.
    const zoneKey = await engine.open(modeOfUse === 'D' ? { ...kind, modeOfUse } : kind, keyBlock)
    opened.set(keyBlock, zoneKey)
    return zoneKey
  }
}
