import { computeChipMac, padMessage } from './emv-mac.ts'
import { fillLength, readPinField, writePinField } from './pin-field.ts'
import { isPinText, refuse, xor } from './refusal.ts'
import { using } from './secrets.ts'
import { decipherTdesCbc, decipherTdesEcb, encipherTdesCbc, encipherTdesEcb } from './tdes.ts'

/** The bytes of the MAC of a command. Schemes may shorten it; all profiles have the whole one. */
export const scriptMacLength = 8

/**
 * Computes the MAC of a command to a chip (EMV Book 2, 9.2.1).
 *
 * @param key the session key for integrity, 16 bytes.
 * @param message what the scheme protects: the command's header, ATC, cryptogram and data.
 * @returns {@link scriptMacLength} bytes.
 * @throws CryptoRefusal `emv_refused` for another length.
 */
export const computeScriptMac = (key: Uint8Array, message: Uint8Array): Buffer =>
  computeChipMac(key, message, 2)

/**
 * Encodes a new PIN for Visa's PIN change: the PIN field combined with bytes 4 to 7 of the card
 * key (Visa Integrated Circuit Card Specification, appendix B). The command does not prove the
 * current PIN.
 *
 * @param cardKey the card key for cryptograms, 16 bytes.
 * @returns 8 bytes, in clear.
 * @throws CryptoRefusal `emv_refused`, whatever is wrong.
 */
export function encodeVisaPinChange(cardKey: Uint8Array, newPin: string): Buffer {
  if (cardKey.length !== 16 || !isPinText(newPin)) refuse('emv_refused')
  return using(writePinField(0, newPin, fill(newPin), isFill), (field) =>
    combineWithCard(field, cardKey),
  )
}

/** Combines the last four bytes of a PIN field with bytes 4 to 7 of the card key. */
const combineWithCard = (field: Uint8Array, cardKey: Uint8Array): Buffer =>
  using(Buffer.concat([Buffer.alloc(4), cardKey.subarray(4, 8)]), (ofCard) => xor(field, ofCard))

/**
 * Decodes the new PIN of a change that does not prove the current PIN, as Visa's chips do.
 *
 * @param cardKey the card key for cryptograms, 16 bytes.
 * @param block 8 bytes, in clear.
 * @throws CryptoRefusal `emv_refused` or `pin_block_refused`, whatever is wrong.
 */
export function decodeVisaPinChange(cardKey: Uint8Array, block: Uint8Array): string {
  if (cardKey.length !== 16 || block.length !== 8) refuse('emv_refused')
  return using(combineWithCard(block, cardKey), (field) => readPinField(0, field, isFill))
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
    return using(Buffer.concat([Buffer.of(data.length), data]), (message) =>
      using(padMessage(message, message.length % 8 === 0 ? 1 : 2), (padded) =>
        encipherTdesEcb(key, padded),
      ),
    )
  }
  return using(encipherment === 'emv' ? padMessage(data, 2) : Buffer.from(data), (message) =>
    encipherTdesCbc(key, Buffer.alloc(8), message),
  )
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
