import { listChipTags } from '../../../domain/chip-data.ts'
import { holdsPan, isPan, maskPan } from '../../../domain/pan.ts'
import type { IsoMessage, Layout } from './layout.ts'
import { fieldNumbers } from './message.ts'
import { standardFields, type Version } from './versions.ts'

/** A field for display. */
interface DescribedField {
  /** `4`, or `55.9F02` for a part of a field. */
  readonly field: string
  readonly name: string
  /** Masked, unless the field cannot contain a secret. */
  readonly value: string
}

/** The tags of chip data that do not identify the cardholder. */
const shownTags = new Set(
  [
    '82 84 95 9A 9C 5F2A 5F34 9F02 9F03 9F09 9F1A 9F26',
    '9F27 9F33 9F34 9F35 9F36 9F37 9F41 91 8A',
  ].flatMap((tags) => tags.split(' ')),
)

/**
 * Describes a message for display: a PAN with its first six and last four digits, and the length of
 * every other field that may contain a secret. Fields not known to be harmless count as secret.
 */
export function describe(
  layout: Layout,
  version: Version,
  { fields, mti }: IsoMessage,
): readonly DescribedField[] {
  const described = fieldNumbers(fields).flatMap((number): DescribedField[] => {
    const field = String(number)
    const standard = standardFields[version][field]
    const name = standard?.name ?? 'unknown'
    const value = fields[field] ?? ''
    const parts = layout.fields[field]?.parts
    if (parts?.kind !== 'ber-tlv' || !layout.fields[field]) {
      // A sender may have put a card number into a field for names.
      const isShown = standard?.shown === true && !holdsPan(value)
      const masked = field === '2' && isPan(value) ? maskPan(value) : mask(value)
      return [{ field, name, value: isShown ? withoutControls(value) : masked }]
    }
    const read = listChipTags(Buffer.from(value, 'hex'))
    if ('fault' in read) return [{ field, name, value: mask(value) }]
    return read.list.map(([tag, bytes]) => {
      const part = Buffer.from(bytes).toString('hex').toUpperCase()
      return { field: `${field}.${tag}`, name, value: shownTags.has(tag) ? part : mask(part) }
    })
  })
  return [{ field: 'mti', name: 'message type', value: mti }, ...described]
}

/** A terminal would interpret control characters. */
const withoutControls = (value: string): string => value.replace(/\p{Cc}/gu, '?')

const mask = (value: string): string => `**** (${value.length})`
