/** 1 when a byte has an odd number of one bits, else 0. */
function parity(byte: number): number {
  const nibble = byte ^ (byte >> 4)
  const pair = nibble ^ (nibble >> 2)
  return (pair ^ (pair >> 1)) & 1
}

/**
 * Sets the lowest bit of each byte so that every byte has an odd number of one bits
 * (FIPS 46-3, SP 800-67 section 3).
 *
 * @param key any length.
 * @returns a new key; its cryptographic value is the same.
 */
export function setOddParity(key: Uint8Array): Buffer {
  return Buffer.from(key.map((byte) => byte ^ parity(byte) ^ 1))
}

/** Whether every byte of a key has an odd number of one bits; all bytes are looked at. */
export function hasOddParity(key: Uint8Array): boolean {
  return key.reduce((all, byte) => all & parity(byte), 1) === 1
}
