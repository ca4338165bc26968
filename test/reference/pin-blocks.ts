import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/**
 * PIN blocks as a terminal or a network makes and reads them (ISO 9564-1:2017 9), by other code than the
 * product's: what a test sends and looks into.
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
  3: (length) => Array.from({ length }, (_, at) => 'abcdef'.charAt((at * 5) % 6)).join(''),
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
