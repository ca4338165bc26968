import { computeChipMac, padMessage } from './emv-mac.ts'
import { fillLength, readPinField, writePinField } from './pin-field.ts'
import { isPinText, refuse, xor } from './refusal.ts'
import { decipherTdesCbc, decipherTdesEcb, encipherTdesCbc, encipherTdesEcb } from './tdes.ts'

/**
 * Computes the MAC of a command to a chip (EMV Book 2, 9.2.1).
 *
 * @param key the session key for integrity, 16 bytes.
 * @param message what the scheme protects: the command's header, ATC, cryptogram and data.
 * @param length 4 to 8.
 * @throws CryptoRefusal `emv_refused` for another length.
 */
export function computeScriptMac(key: Uint8Array, message: Uint8Array, length = 8): Buffer {
  if (!Number.isInteger(length) || length < 4 || length > 8) refuse('emv_refused')
  return computeChipMac(key, message, 2).subarray(0, length)
}

/**
 * Encodes a new PIN for Visa's PIN change: the PIN field combined with bytes 4 to 7 of the card key, and
 * with the current PIN where the command proves it (Visa Integrated Circuit Card Specification,
 * appendix B).
 *
 * @param cardKey the card key for cryptograms, 16 bytes.
 * @param currentPin null where the command does not prove it.
 * @returns 8 bytes, in clear.
 * @throws CryptoRefusal `emv_refused`, whatever is wrong.
 */
export function encodeVisaPinChange(
  cardKey: Uint8Array,
  newPin: string,
  currentPin: string | null,
): Buffer {
  if (cardKey.length !== 16 || !isPinText(newPin)) refuse('emv_refused')
  const field = writePinField(0, newPin, fill(newPin), isFill)
  const ofCard = Buffer.concat([Buffer.alloc(4), cardKey.subarray(4, 8)])
  const combined = xor(field, ofCard)
  if (currentPin === null) return combined
  if (!isPinText(currentPin)) refuse('emv_refused')
  return xor(combined, Buffer.from(currentPin.padEnd(16, '0'), 'hex'))
}

/**
 * Decodes the new PIN of a change that does not prove the current PIN, as Visa's chips do.
 *
 * @param cardKey the card key for cryptograms, 16 bytes.
 * @param block 8 bytes, in clear.
 * @throws CryptoRefusal `emv_refused` or `pin_block_refused`, whatever is wrong.
 */
export function decodeVisaPinChange(cardKey: Uint8Array, block: Uint8Array): string {
  if (cardKey.length !== 16 || block.length !== 8) refuse('emv_refused')
  const ofCard = Buffer.concat([Buffer.alloc(4), cardKey.subarray(4, 8)])
  return readPinField(0, xor(block, ofCard), isFill)
}

/**
 * Encodes a new PIN in ISO format 2 (ISO 9564-1:2017 9.3.4), as all other schemes send it.
 *
 * @returns 8 bytes, in clear.
 * @throws CryptoRefusal `pin_block_refused` unless the PIN has 4 to 12 digits.
 */
export const encodePinBlockFormat2 = (pin: string): Buffer =>
  writePinField(2, pin, fill(pin), isFill)

/**
 * Decodes a PIN in ISO format 2, as a chip does.
 *
 * @param block 8 bytes, in clear.
 * @throws CryptoRefusal `pin_block_refused`, whatever is wrong.
 */
export const decodePinBlockFormat2 = (block: Uint8Array): string => readPinField(2, block, isFill)

const fill = (pin: string): Buffer => Buffer.alloc(fillLength(pin), 15)
const isFill = (nibble: number): boolean => nibble === 15

/** How a scheme enciphers the data of a command. */
export type ScriptEncipherment = 'visa' | 'mastercard' | 'emv'

/**
 * Enciphers the data of a command (EMV Book 2, 9.3.1; Visa and Mastercard have their own padding).
 *
 * @param key the session key for confidentiality, 16 bytes.
 * @param data at least one byte; whole blocks for Mastercard.
 * @throws CryptoRefusal `emv_refused` for another length.
 */
export function encipherScriptData(
  key: Uint8Array,
  data: Uint8Array,
  encipherment: ScriptEncipherment,
): Buffer {
  if (key.length !== 16 || data.length === 0 || data.length > 255) refuse('emv_refused')
  if (encipherment === 'visa') {
    // The length comes first.
    const message = Buffer.concat([Buffer.of(data.length), data])
    return encipherTdesEcb(key, padMessage(message, message.length % 8 === 0 ? 1 : 2))
  }
  const message = encipherment === 'emv' ? padMessage(data, 2) : data
  return encipherTdesCbc(key, Buffer.alloc(8), message)
}

/**
 * Deciphers the data of a command, as a chip does.
 *
 * @param key the session key for confidentiality, 16 bytes.
 * @throws CryptoRefusal `emv_refused`, whatever is wrong.
 */
export function decipherScriptData(
  key: Uint8Array,
  enciphered: Uint8Array,
  encipherment: ScriptEncipherment,
): Buffer {
  const isWhole = enciphered.length > 0 && enciphered.length % 8 === 0
  if (key.length !== 16 || !isWhole) refuse('emv_refused')
  if (encipherment === 'visa') {
    const message = decipherTdesEcb(key, enciphered)
    const length = message[0] ?? 0
    if (length === 0 || length >= message.length) refuse('emv_refused')
    return message.subarray(1, 1 + length)
  }
  const message = decipherTdesCbc(key, Buffer.alloc(8), enciphered)
  if (encipherment === 'mastercard') return message
  const end = message.lastIndexOf(0x80)
  if (end < 1 || message.subarray(end + 1).some((byte) => byte !== 0)) refuse('emv_refused')
  return message.subarray(0, end)
}
