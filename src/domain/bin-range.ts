/** The digits that PANs of a network begin with, and how many digits they have. */
export interface BinRange {
  /** The network; a second range of the same network ends in `-2`. */
  readonly name: string
  readonly prefixes: readonly Span[]
  readonly lengths: readonly Span[]
}

/** The lowest and the highest of a span, both of which belong to it. */
type Span = readonly [low: string, high: string]

/** The ranges that the networks publish (allocated under ISO/IEC 7812-2). */
export const binRanges: readonly BinRange[] = [
  binRange('visa', '4', '13,16,19'),
  binRange('mastercard', '51-55', '16'),
  binRange('mastercard-2', '2221-2720', '16'),
  binRange('amex', '34,37', '15'),
  binRange('discover', '6011,644-649,65', '16-19'),
  binRange('diners', '36,38-39,300-305', '14-19'),
  binRange('jcb', '3528-3589', '16-19'),
  binRange('unionpay', '62', '16-19'),
  binRange('maestro', '5018,5020,5038,5893,6304,6759,6761-6763', '12-19'),
  binRange('mir', '2200-2204', '16-19'),
]

/** Whether a BIN or a PAN begins with digits of the range. */
export const hasPrefixOf = (range: BinRange, digits: string): boolean =>
  range.prefixes.some(([low, high]) => {
    const prefix = digits.slice(0, low.length)
    return prefix.length === low.length && prefix >= low && prefix <= high
  })

/** Whether PANs of the range may have this many digits. */
export const hasLengthOf = (range: BinRange, length: number): boolean =>
  range.lengths.some(([low, high]) => length >= Number(low) && length <= Number(high))

/** The range that a whole PAN fits by its first digits and its length, or null. */
export const binRangeOf = (pan: string): BinRange | null =>
  binRanges.find((range) => hasPrefixOf(range, pan) && hasLengthOf(range, pan.length)) ?? null

/** The ranges of a scheme by the name that people write, such as `Visa`; none if unpublished. */
export const rangesOfScheme = (schemeName: string): readonly BinRange[] =>
  binRanges.filter(({ name }) => name.replace(/-2$/, '') === schemeName.toLowerCase())

function binRange(name: string, prefixes: string, lengths: string): BinRange {
  return { name, prefixes: spans(prefixes), lengths: spans(lengths) }
}

function spans(notation: string): readonly Span[] {
  return notation.split(',').map((span) => {
    const [low = '', high = low] = span.split('-')
    return [low, high]
  })
}
