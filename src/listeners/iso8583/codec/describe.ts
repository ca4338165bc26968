import { listChipTags } from '../../../domain/chip-data.ts'
import { holdsPan, isPan, maskPan } from '../../../domain/pan.ts'
import { chipTags } from './chip-tags.ts'
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
      const known = chipTags.get(tag)
      const shown = known?.isShown === true ? part : mask(part)
      return { field: `${field}.${tag}`, name: known?.name ?? name, value: shown }
    })
  })
  return [{ field: 'mti', name: 'message type', value: mti }, ...described]
}

/** A terminal would interpret control characters. */
const withoutControls = (value: string): string => value.replace(/\p{Cc}/gu, '?')

const mask = (value: string): string => `**** (${value.length})`
