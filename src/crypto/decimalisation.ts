/**
 * Decimalization of a ciphertext in two passes, as PVV and CVV share it: from left to right the
 * decimal digits, then from left to right A to F as 0 to 5 (the Visa PVV and CVV methods).
 *
 * @param ciphertext any number of bytes; n bytes always give 2n digits, so 8 bytes never fall
 *   short.
 * @returns two digits per byte of ciphertext.
 */
export function decimaliseInTwoPasses(ciphertext: Uint8Array): string {
  const nibbles = Array.from(ciphertext).flatMap((byte) => [byte >> 4, byte & 15])
  const decimal = nibbles.filter((nibble) => nibble < 10)
  const letters = nibbles.filter((nibble) => nibble >= 10).map((nibble) => nibble - 10)
  return [...decimal, ...letters].join('')
}
