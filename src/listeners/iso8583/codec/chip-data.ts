import type { Cursor } from './encodings.ts'
import { readField } from './fields.ts'
import { CodecError, type FieldLayout } from './layout.ts'
import { readParts } from './parts.ts'

/** Whether a field holds chip data that hosts may also send in hexadecimal. */
export const isChipData = ({ encoding, parts, tolerant }: FieldLayout): boolean =>
  tolerant === true && encoding === 'binary' && parts?.kind === 'ber-tlv'

/**
 * Reads chip data: bytes, or hexadecimal digits if these parse. The length before digits counts the
 * digits, or the bytes that they represent.
 * @returns the counted bytes if neither parses.
 */
export function readChipData(cursor: Cursor, layout: FieldLayout): string {
  const counted = readField(cursor, layout)
  const length = counted.length / 2
  const digits = hexadecimalIn(Buffer.from(counted, 'hex'))
  if (digits !== null && hasParts(cursor.field, layout, digits)) return digits
  if (hasParts(cursor.field, layout, counted)) return counted
  const twice = cursor.bytes.subarray(cursor.at - length, cursor.at + length)
  const longer = twice.length === 2 * length ? hexadecimalIn(twice) : null
  if (longer === null || !hasParts(cursor.field, layout, longer)) return counted
  cursor.at += length
  return longer
}

function hexadecimalIn(bytes: Uint8Array): string | null {
  const text = Buffer.from(bytes).toString('latin1')
  return /^(?:[0-9A-Fa-f]{2})+$/.test(text) ? text.toUpperCase() : null
}

function hasParts(name: string, layout: FieldLayout, value: string): boolean {
  try {
    readParts(name, layout, value)
    return true
  } catch (error) {
    if (error instanceof CodecError) return false
    throw error
  }
}
