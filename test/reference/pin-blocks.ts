import { createCipheriv, createDecipheriv, randomBytes, randomInt } from 'node:crypto'
import { decipherPinBlock, encipherPinBlock } from '../../src/crypto/pin-block.ts'
import { fillLength, readPinField, writePinField } from '../../src/crypto/pin-field.ts'
import { CryptoRefusal, refuse } from '../../src/crypto/refusal.ts'
import { clearBlockKey } from './keys.ts'
import { refuseInputs } from './refusal.ts'

/**
 * PIN blocks as a terminal or a network makes and reads them (ISO 9564-1:2017 9), by other code
 * than the product's: what a test sends and looks into.
 */

export interface PinBlockContext {
  readonly format: 0 | 1 | 3 | 4
  /** Check digit included; format 1 does not look at it. */
  readonly pan: string
  /** TDES for formats 0, 1 and 3, AES for format 4. */
  readonly key: Uint8Array
}

/** The block of a PIN, enciphered. */
export function makePinBlock(pin: string, { format, key, pan }: PinBlockContext): Buffer {
  const field = `${format}${pin.length.toString(16)}${pin}`
  if (format !== 4) {
    const block = xorHex(field + drawFill[format](14 - pin.length), twelveDigitsOf(format, pan))
    return ecb(key, block, 'encipher')
  }
  const pinField = field.padEnd(16, 'a') + randomBytes(8).toString('hex')
  const intermediate = ecb(key, Buffer.from(pinField, 'hex'), 'encipher').toString('hex')
  return ecb(key, xorHex(intermediate, panFieldOf(pan)), 'encipher')
}

/** The PIN in a block. @throws Error when its field is none of the format. */
export function readPinBlock(block: Uint8Array, { format, key, pan }: PinBlockContext): string {
  const first = ecb(key, block, 'decipher').toString('hex')
  const field =
    format === 4
      ? ecb(key, xorHex(first, panFieldOf(pan)), 'decipher').toString('hex')
      : xorHex(first, twelveDigitsOf(format, pan)).toString('hex')
  const length = Math.min(Number.parseInt(field.charAt(1), 16), 12)
  const form = `^${format}[4-9a-c]([0-9]{${length}})${fillOf[format]}{${14 - length}}`
  const pin = new RegExp(form).exec(field)?.[1]
  if (pin === undefined) throw new Error('This is no PIN block of the format.')
  return pin
}

const fillOf = { 0: 'f', 1: '[0-9a-f]', 3: '[a-f]', 4: 'a' } as const

const drawFill: Record<0 | 1 | 3, (length: number) => string> = {
  0: (length) => 'f'.repeat(length),
  1: (length) => randomBytes(length).toString('hex').slice(0, length),
  3: (length) => Array.from({ length }, () => 'abcdef'.charAt(randomInt(6))).join(''),
}

const twelveDigitsOf = (format: 0 | 1 | 3, pan: string): string =>
  format === 1 ? '0'.repeat(16) : pan.slice(-13, -1).padStart(16, '0')

const panFieldOf = (pan: string): string =>
  `${Math.max(pan.length - 12, 0)}${pan.padStart(12, '0')}`.padEnd(32, '0')

const xorHex = (left: string, right: string): Buffer => {
  const other = Buffer.from(right, 'hex')
  return Buffer.from(Buffer.from(left, 'hex').map((byte, at) => byte ^ (other[at] ?? 0)))
}

/** Blocks of 16 bytes are of AES, of 8 of TDES. */
function ecb(key: Uint8Array, block: Uint8Array, direction: 'encipher' | 'decipher'): Buffer {
  const bytes = Buffer.from(key)
  const [name, secret] =
    block.length === 16
      ? [`aes-${8 * bytes.length}-ecb`, bytes]
      : ['des-ede3-ecb', Buffer.concat([bytes, bytes, bytes]).subarray(0, 24)]
  const make = direction === 'encipher' ? createCipheriv : createDecipheriv
  const cipher = make(name, secret, null).setAutoPadding(false)
  return Buffer.concat([cipher.update(block), cipher.final()])
}

const isFill = (nibble: number) => nibble === 15

/**
 * Encodes a clear ISO format 2 PIN block, which goes to the chip of a card and nowhere else
 * (ISO 9564-1:2017 9.3.4, EMV Book 3 6.5.12).
 *
 * @param pin 4 to 12 digits.
 * @returns 8 bytes, in clear.
 * @throws CryptoRefusal `pin_block_refused` when it is anything else.
 */
export function encodePinBlockFormat2(pin: string): Buffer {
  return writePinField(2, pin, Buffer.alloc(fillLength(pin), 15), isFill)
}

/**
 * Decodes a clear ISO format 2 PIN block.
 *
 * @param block 8 bytes, in clear.
 * @returns the PIN, 4 to 12 digits.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export function decodePinBlockFormat2(block: Uint8Array): string {
  if (block.length !== 8) refuse('pin_block_refused')
  return readPinField(2, block, isFill)
}

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

const keyOf = ({ format, key }: PinBlockContext) =>
  clearBlockKey(format === 4 ? 'AES' : 'TDES', key)

/** The block that the product makes of a PIN under a key whose bytes are known. */
export const encipherUnder = (
  context: PinBlockContext,
  pin: string,
  fill?: Uint8Array,
): Promise<Buffer> =>
  encipherPinBlock(`ISO_FORMAT_${context.format}`, keyOf(context), pin, { pan: context.pan, fill })

/** The PIN that the product reads in a block under a key whose bytes are known. */
export const decipherUnder = (context: PinBlockContext, block: Uint8Array): Promise<string> =>
  decipherPinBlock(`ISO_FORMAT_${context.format}`, keyOf(context), block, context.pan)
