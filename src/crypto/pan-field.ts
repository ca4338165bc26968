import { isDigits } from './digits.ts'
import { refuse } from './refusal.ts'

/**
 * The PAN field of formats 0 and 3: four zero nibbles, then the 12 rightmost digits but for the
 * check digit (ISO 9564-1:2017 9.3.2.3).
 *
 * @param pan 13 to 19 digits, check digit included.
 * @returns 8 bytes.
 * @throws CryptoRefusal `pin_block_refused` when it is anything else.
 */
export function panFieldOfTwelve(pan: string): Buffer {
  if (!isDigits(pan, 13, 19)) refuse('pin_block_refused')
  return Buffer.from(`0000${pan.slice(-13, -1)}`, 'hex')
}
