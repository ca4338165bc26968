import { createHash } from 'node:crypto'
import { decimaliseInTwoPasses } from './pvv.ts'
import { isDigits, refuse, xor } from './refusal.ts'
import { encipherTdesEcb } from './tdes.ts'
import { adjustParity } from './tdes-keys.ts'

/** An issuer master key, in this process or in a token. */
export interface IssuerMasterKey {
  /** TDES in ECB mode over whole blocks. */
  encipher(blocks: Uint8Array): Promise<Uint8Array>
}

/** The chip that a key is derived for. */
export interface ChipIdentity {
  /** 12 to 19 digits, check digit included. */
  readonly pan: string
  /** PAN sequence number, 2 digits; `00` where the chip has none. */
  readonly panSequenceNumber: string
}

/** How a card key is derived: EMV Book 2, A1.4.1 or A1.4.2. */
export type CardKeyOption = 'A' | 'B'

/**
 * Derives a card's master key from that of its issuer (EMV Book 2, A1.4). Option B hashes only PANs
 * longer than 16 digits; for all others it is option A.
 *
 * @returns 16 bytes, odd parity.
 * @throws CryptoRefusal `emv_refused` for another PAN or sequence number; errors of the key.
 */
export async function deriveCardKey(
  option: CardKeyOption,
  issuerKey: IssuerMasterKey,
  { pan, panSequenceNumber }: ChipIdentity,
): Promise<Buffer> {
  if (!isDigits(pan, 12, 19) || !isDigits(panSequenceNumber, 2, 2)) refuse('emv_refused')
  const identity = `${pan}${panSequenceNumber}`
  const isHashed = option === 'B' && pan.length > 16
  const digits = isHashed ? hashIdentity(identity) : identity.slice(-16).padStart(16, '0')
  const block = Buffer.from(digits, 'hex')
  const inverted = xor(block, Buffer.alloc(8, 0xff))
  const key = await issuerKey.encipher(Buffer.concat([block, inverted]))
  return adjustParity(Buffer.from(key.buffer, key.byteOffset, key.length))
}

/** The first 16 digits of the SHA-1 of PAN and sequence number (A1.4.2). */
function hashIdentity(identity: string): string {
  const wholeBytes = identity.length % 2 === 0 ? identity : `0${identity}`
  const hash = createHash('sha1').update(Buffer.from(wholeBytes, 'hex')).digest()
  return decimaliseInTwoPasses(hash).slice(0, 16)
}

/**
 * Derives a session key (EMV Book 2, A1.3, "common session key derivation").
 *
 * @param cardKey 16 bytes.
 * @param diversifier 8 bytes: {@link diversifyByAtc}, {@link diversifyMChip}, or the cryptogram for
 *   secure messaging.
 * @returns 16 bytes, odd parity.
 * @throws CryptoRefusal `emv_refused` for another length.
 */
export function deriveSessionKey(cardKey: Uint8Array, diversifier: Uint8Array): Buffer {
  if (cardKey.length !== 16 || diversifier.length !== 8) refuse('emv_refused')
  const left = Buffer.from(diversifier)
  const right = Buffer.from(diversifier)
  left[2] = 0xf0
  right[2] = 0x0f
  return adjustParity(encipherTdesEcb(cardKey, Buffer.concat([left, right])))
}

/**
 * The diversifier of the application cryptogram (EMV Book 2, A1.3.1).
 *
 * @param atc application transaction counter (9F36), 2 bytes.
 */
export function diversifyByAtc(atc: Uint8Array): Buffer {
  if (atc.length !== 2) refuse('emv_refused')
  return Buffer.concat([atc, Buffer.alloc(6)])
}

/**
 * The diversifier of M/Chip 2 and 4 (Mastercard M/Chip, "session key derivation").
 *
 * @param atc 2 bytes.
 * @param unpredictableNumber 9F37, 4 bytes.
 */
export function diversifyMChip(atc: Uint8Array, unpredictableNumber: Uint8Array): Buffer {
  if (atc.length !== 2 || unpredictableNumber.length !== 4) refuse('emv_refused')
  return Buffer.concat([atc, Buffer.alloc(2), unpredictableNumber])
}

/**
 * Derives the key of Visa's secure messaging: the left half combined with the ATC, the right half
 * with its complement (Visa Integrated Circuit Card Specification, appendix D).
 *
 * @param cardKey 16 bytes.
 * @param atc 2 bytes.
 * @returns 16 bytes, odd parity.
 * @throws CryptoRefusal `emv_refused` for another length.
 */
export function deriveVisaMessagingKey(cardKey: Uint8Array, atc: Uint8Array): Buffer {
  if (cardKey.length !== 16 || atc.length !== 2) refuse('emv_refused')
  const complement = xor(atc, Buffer.alloc(2, 0xff))
  const diversifier = Buffer.concat([Buffer.alloc(6), atc, Buffer.alloc(6), complement])
  return adjustParity(xor(cardKey, diversifier))
}
