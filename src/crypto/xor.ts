/**
 * The exclusive or of two byte strings of one length.
 *
 * @throws RangeError when the lengths differ: that is a fault of the caller, not of an input.
 */
export function xor(left: Uint8Array, right: Uint8Array): Buffer {
  if (left.length !== right.length) throw new RangeError('Only equal lengths can be combined.')
  return Buffer.from(left.map((byte, at) => byte ^ (right[at] ?? 0)))
}
