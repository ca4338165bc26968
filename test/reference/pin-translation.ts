import { CryptoRefusal } from '../../src/crypto/refusal.ts'
import { decipherUnder, encipherUnder } from './clear-keys.ts'
import type { PinBlockContext } from './pin-blocks.ts'
import { refuseInputs } from './refusal.ts'

/** What must hold of a permitted translation. */
type TranslationCondition = 'no PAN change' | ''

/** From format, to format: the condition of each permitted translation (PCI PIN 3.1, 3-3). */
const permitted: Readonly<Record<number, Readonly<Record<number, TranslationCondition>>>> = {
  0: { 0: 'no PAN change', 3: 'no PAN change', 4: 'no PAN change' },
  1: { 0: '', 1: '', 3: '', 4: '' },
  3: { 0: 'no PAN change', 3: 'no PAN change', 4: 'no PAN change' },
  4: { 0: 'no PAN change', 3: 'no PAN change', 4: 'no PAN change' },
}

/** The formats, and if both are known the PANs, of a translation. */
type Translation = {
  readonly fromFormat: number
  readonly toFormat: number
  readonly fromPan?: string
  readonly toPan?: string
}

/**
 * Whether a translation is permitted, and on what condition (PCI PIN Security 3.1, requirement
 * 3-3): a block that is bound to a PAN becomes neither unbound nor bound to another.
 *
 * @returns the condition, which given PANs have been found to meet.
 * @throws ReferenceRefusal when it is not permitted.
 */
export function requirePermittedTranslation(translation: Translation): TranslationCondition {
  const { fromFormat, toFormat, fromPan, toPan } = translation
  const condition = permitted[fromFormat]?.[toFormat] ?? refuseInputs()
  if (condition === 'no PAN change' && fromPan !== toPan) refuseInputs()
  return condition
}

/**
 * Translates a PIN block from one key, and if permitted one format, to another.
 *
 * @param block 8 bytes, or 16 from format 4.
 * @param random fill nibbles for formats 1 and 3, 8 bytes for format 4; drawn unless given.
 * @returns 8 bytes, or 16 to format 4.
 * @throws ReferenceRefusal, whether the translation is not permitted or the block does not decode.
 */
export async function translatePinBlock(
  block: Uint8Array,
  from: PinBlockContext,
  to: PinBlockContext,
  random?: Uint8Array,
): Promise<Buffer> {
  requirePermittedTranslation({
    fromFormat: from.format,
    toFormat: to.format,
    fromPan: from.pan,
    toPan: to.pan,
  })
  try {
    return await encipherUnder(to, await decipherUnder(from, block), random)
  } catch (error) {
    if (error instanceof CryptoRefusal) return refuseInputs()
    throw error
  }
}
