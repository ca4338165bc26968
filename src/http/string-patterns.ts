/** What strings of digits and the like look like on the wire, as JSON Schema says it. */
export const stringPatterns = {
  pin: '^[0-9]{4,12}$',
  pan: '^[0-9]{12,19}$',
  cvv: '^[0-9]{3,4}$',
  hexadecimal: '^[0-9A-Fa-f]*$',
  keyName: '^[a-z0-9-]+$',
  clientId: '^[\\x21-\\x7e]{1,64}$',
  mobile: '^\\+?[0-9 ().-]+$',
  email: '^[^\\s@]+@[^\\s@]+$',
  currencyCode: '^[A-Z]{3}$',
  pageLimit: '^([1-9][0-9]?|100)$',
  cursor: '^[A-Za-z0-9_-]+$',
  coordinate: '^[A-Za-z0-9_-]{43}$',
  nonce: '^[A-Za-z0-9_-]{16,64}$',
} as const

/** The same for people: a regular expression is no explanation. */
const sentences: Readonly<Record<keyof typeof stringPatterns, string>> = {
  pin: 'must be 4 to 12 digits',
  pan: 'must be 12 to 19 digits',
  cvv: 'must be 3 or 4 digits',
  hexadecimal: 'must be hexadecimal digits',
  keyName: 'must be small letters, digits and dashes',
  clientId: 'must be 1 to 64 visible ASCII characters',
  mobile: 'must be a telephone number',
  email: 'must be an e-mail address',
  currencyCode: 'must be three capital letters',
  pageLimit: 'must be a whole number from 1 to 100',
  cursor: 'must come from a Link header',
  coordinate: 'must be 32 bytes in base64url',
  nonce: 'must be 16 to 64 base64url characters',
}

const sentenceByPattern = new Map<string, string>(
  Object.entries(stringPatterns).map(([name, pattern]) => [
    pattern,
    sentences[name as keyof typeof stringPatterns],
  ]),
)

/** What a string that does not match a pattern should have been. */
export const patternSentence = (pattern: string): string =>
  sentenceByPattern.get(pattern) ?? `must match ${pattern}`
