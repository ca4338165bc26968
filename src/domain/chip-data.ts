import type { ChipTags } from './chip-profile.ts'

/**
 * Chip data of a transaction: field 55 of ISO 8583, a list of tags (BER-TLV as EMV Book 3, annex B,
 * restricts it).
 */

/** The maximum number of bytes of field 55. */
const chipDataMost = 255

/** Why chip data cannot be read. */
export type ChipDataFault = 'empty' | 'too_long' | 'bad_tag' | 'bad_length' | 'repeated_tag'

/**
 * Reads chip data. Tags are in upper-case hexadecimal digits. No value is interpreted, and no
 * constructed tag is opened.
 *
 * @returns the values by tag, or the first fault.
 */
export function parseChipData(
  data: Uint8Array,
): { readonly tags: ChipTags } | { readonly fault: ChipDataFault } {
  const read = listChipTags(data)
  if ('fault' in read) return read
  const tags = new Map(read.list)
  return tags.size < read.list.length ? { fault: 'repeated_tag' } : { tags }
}

/** Reads data in which tags can repeat, such as an answer with several commands. */
export function listChipTags(
  data: Uint8Array,
):
  | { readonly list: readonly (readonly [tag: string, value: Uint8Array])[] }
  | { readonly fault: Exclude<ChipDataFault, 'repeated_tag'> } {
  if (data.length === 0) return { fault: 'empty' }
  if (data.length > chipDataMost) return { fault: 'too_long' }
  const list: (readonly [string, Uint8Array])[] = []
  let at = 0
  while (at < data.length) {
    const tagLength = measureTag(data, at)
    if (tagLength === null) return { fault: 'bad_tag' }
    const tag = Buffer.from(data.subarray(at, at + tagLength))
      .toString('hex')
      .toUpperCase()
    const value = readValue(data, at + tagLength)
    if (value === null) return { fault: 'bad_length' }
    list.push([tag, value.bytes])
    at = value.end
  }
  return { list }
}

/** Composes chip data of tags: lengths up to 127 bytes in one byte, longer ones in two. */
export function composeChipData(tags: Iterable<readonly [tag: string, value: Uint8Array]>): Buffer {
  const parts = [...tags].map(([tag, value]) => {
    const length = value.length > 127 ? [0x81, value.length] : [value.length]
    return Buffer.concat([Buffer.from(tag, 'hex'), Buffer.from(length), value])
  })
  return Buffer.concat(parts)
}

/** The longest tag of EMV in bytes. */
const tagBytesMost = 3

/** Returns the number of bytes of a tag; null if it is cut off, too long or filler. */
function measureTag(data: Uint8Array, at: number): number | null {
  const first = data[at] ?? 0
  // 00 and FF are fillers between tags, which chip data of a network never has.
  if (first === 0x00 || first === 0xff) return null
  if ((first & 0x1f) !== 0x1f) return 1
  for (let length = 2; length <= tagBytesMost; length += 1) {
    const next = data[at + length - 1]
    if (next === undefined) return null
    if ((next & 0x80) === 0) return length
  }
  return null
}

/** Reads a length of one or two bytes, and the value; null if either is cut off. */
function readValue(
  data: Uint8Array,
  at: number,
): { readonly bytes: Uint8Array; readonly end: number } | null {
  const first = data[at]
  if (first === undefined || (first > 0x7f && first !== 0x81)) return null
  const isLong = first === 0x81
  const length = isLong ? data[at + 1] : first
  if (length === undefined) return null
  const from = at + (isLong ? 2 : 1)
  const end = from + length
  return end > data.length ? null : { bytes: data.subarray(from, end), end }
}
