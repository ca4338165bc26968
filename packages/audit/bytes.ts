import { AuditFault } from './audit-fault.ts'

const encoder = new TextEncoder()

export const utf8 = (text: string): Uint8Array => encoder.encode(text)

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Compares public bytes; not in constant time. */
export const isSame = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, at) => byte === b[at])

export const formatHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

/** @param hex an even number of digits. */
export const fromHex = (hex: string): Uint8Array =>
  Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16))

/** Encodes Base64 (RFC 4648 section 4). */
export const toBase64 = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))

/** @throws AuditFault unless it is canonical Base64 (RFC 4648 section 4). */
export function fromBase64(text: string): Uint8Array {
  try {
    const binary = atob(text)
    if (btoa(binary) === text) return Uint8Array.from(binary, (each) => each.charCodeAt(0))
  } catch {
    // It is refused below.
  }
  throw new AuditFault('malformed', 'the text is not base64 as in RFC 4648')
}

/** Encodes a whole number in 8 bytes, big-endian. */
export function eightBytes(number: number): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(number))
  return bytes
}
