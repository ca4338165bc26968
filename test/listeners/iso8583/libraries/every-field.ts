import type { FieldLayout } from '../../../../src/listeners/iso8583/codec/layout.ts'
import type { Profile } from '../../../../src/listeners/iso8583/profile-schema.ts'
import { nextTrace } from '../../../support/switch.ts'
import { createStep, type WalkStep, type WalkValue } from './walk.ts'

/**
 * Echoes that carry every field of a layout, whatever it means: each once in its greatest length
 * and, where its length varies, once with one character and once with none. What this side could
 * not read would be answered 30.
 */
export const everyFieldSteps = (profile: Profile): readonly WalkStep[] => [
  ...echoesWith(profile, 'the longest', longest),
  ...echoesWith(profile, 'the shortest', shortest),
  ...echoesWith(profile, 'an empty', empty),
]

/** The library that plays Visa's host sends no more than 2,048 bytes. */
const bytesMax = 1_500

/** Units of the longest value. */
const longest = ({ length, max = 0 }: FieldLayout): number => length ?? max

/** Of packed digits whose bytes are counted, there are two at least. */
const shortest = ({ prefix }: FieldLayout): number | null => {
  if (!prefix) return null
  return prefix.counts === 'bytes' ? 2 : 1
}

/** A field of subfields has a bitmap at least. */
const empty = ({ parts, prefix }: FieldLayout): number | null =>
  prefix && parts?.kind !== 'bitmap' ? 0 : null

function echoesWith(
  profile: Profile,
  which: string,
  unitsOf: (field: FieldLayout) => number | null,
): WalkStep[] {
  const steps: WalkStep[] = []
  let fields: Record<string, WalkValue> = {}
  let bytes = 0
  const close = () => {
    const numbers = Object.keys(fields)
    if (numbers.length === 0) return
    const name = `an echo with ${which} field ${numbers.join(', ')}`
    steps.push(createStep(profile, name, 'managed', '0800', { ...fields, ...echoOf(profile) }))
    fields = {}
    bytes = 0
  }
  for (const [number, field] of Object.entries(profile.layout.fields)) {
    const units = unitsOf(field)
    const isOfEcho = Object.hasOwn(echoOf(profile), number)
    if (units === null || isOfEcho) continue
    if (bytes + units > bytesMax) close()
    fields[number] = makeValue(field, units)
    bytes += units
  }
  close()
  return steps
}

/** What makes a message an echo. */
const echoOf = ({ management, version }: Profile): Record<string, string> => {
  const trace = nextTrace()
  return {
    7: `1126${trace}`,
    11: trace,
    ...(version === '1993' && { 12: `261126${trace}` }),
    [management.field]: management.echo[0] ?? '',
  }
}

const filled = (text: string, length: number): string =>
  text.repeat(Math.ceil(length / text.length)).slice(0, length)

/** A value of so many units. Its characters are the same in every code page of EBCDIC. */
function makeValue(field: FieldLayout, units: number): WalkValue {
  if (units === 0) return field.parts?.kind.endsWith('tlv') ? { parts: {} } : ''
  if (field.parts) return makeParts(field, units)
  const texts = {
    n: () => filled('1234567890', units),
    a: () => filled('ABCabc', units),
    an: () => filled('A1b2', units),
    ans: () => filled('A1b2 .-/', units),
    'x+n': () => `C${filled('1234567890', units - 1)}`,
    z: () => filled(field.encoding === 'bcd' ? '1234567D89' : '1234567=89', units),
    b: () => filled('0123456789ABCDEF', 2 * units),
  }
  return texts[field.type]()
}

/** A part that fills the field, as far as its length can count. */
function makeParts({ parts }: FieldLayout, units: number): WalkValue {
  if (parts?.kind === 'ber-tlv') {
    // A value of no bytes is left out: moov-io/iso8583 writes its tag without a length.
    const bytes = Math.max(1, Math.min(units - 3, 120))
    return { parts: { '9F02': filled('0123456789ABCDEF', 2 * bytes) } }
  }
  if (parts?.kind === 'bitmap') {
    const subfields = Object.entries(parts.fields).map(
      ([number, field]) => [number, makeValue(field, longest(field))] as const,
    )
    return { parts: Object.fromEntries(subfields) as Record<string, string> }
  }
  const header = parts?.kind === 'tlv' && parts.header ? { header: 'T' } : {}
  return { ...header, parts: { 92: filled('A1b2', units > 1 ? 99 : 1) } }
}
