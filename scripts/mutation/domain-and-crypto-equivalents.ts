/** Mutants of src/domain and src/crypto that no test can find, each with its reason. */

/** A mutant that no test can find: what it does cannot be distinguished from what the code does. */
export type Equivalent = {
  readonly file: string
  /** Part of the source line in which the mutant begins. */
  readonly line: string
  /** Only mutants that put this there; left out: every mutant of the line that survives. */
  readonly replacement?: string
  readonly reason: string
}

const splitsAtLeastOnce =
  'a text that is split has a first part: the default is for the types alone'
const undefinedEither =
  'the members of what did not match are undefined, whatever else the list holds'

export const domainEquivalents: readonly Equivalent[] = [
  {
    file: 'src/domain/pan.ts',
    line: "const [low = '', high = low] = span.split('-')",
    reason: splitsAtLeastOnce,
  },
  {
    file: 'src/domain/pan.ts',
    line: "name.replace(/-2$/, '')",
    replacement: '/-2/',
    reason: 'no name of a range holds -2 before its end',
  },
  {
    file: 'src/domain/calendar.ts',
    line: 'const [, year, month, day] =',
    replacement: '["Stryker was here"]',
    reason: undefinedEither,
  },
  {
    file: 'src/domain/identifiers.ts',
    line: "const [address = '', prefix, ...rest]",
    replacement: '"Stryker was here!"',
    reason: splitsAtLeastOnce,
  },
  {
    file: 'src/domain/identifiers.ts',
    line: 'if (!(isIpv4 || isIpv6) || rest.length > 0)',
    replacement: 'bits <= 0',
    reason: 'bits is 32, 128 or -1',
  },
  {
    file: 'src/domain/calendar.ts',
    line: 'const [, year, month] =',
    replacement: '["Stryker was here"]',
    reason: undefinedEither,
  },
  {
    file: 'src/domain/calendar.ts',
    line: 'return year && month ?',
    replacement: 'year || month',
    reason: 'both are there, or neither',
  },
  {
    file: 'src/domain/product.ts',
    line: "refuseWeakPins: 'boolean'",
    reason:
      'no rule reads this member; the table names every one so that a new one cannot be left out',
  },
  {
    file: 'src/domain/product.ts',
    line: "active: 'boolean'",
    reason:
      'no rule reads this member; the table names every one so that a new one cannot be left out',
  },
  {
    file: 'src/domain/pin.ts',
    line: "shownStretches(maskedPan ?? '')",
    replacement: '"Stryker was here!"',
    reason: 'no digits are shown in either',
  },
  {
    file: 'src/domain/pin.ts',
    line: "const [year, month, day] = dateOfBirth?.split('-')",
    reason: undefinedEither,
  },
  {
    file: 'src/domain/pin.ts',
    line: 'return year && month && day ?',
    reason: 'a date of birth has all three, and one that is unknown none',
  },
  {
    file: 'src/domain/pin.ts',
    line: 'const runs = digits.match',
    replacement: '["Stryker was here"]',
    reason: 'neither list, joined, is the PIN',
  },
  {
    file: 'src/domain/pin.ts',
    line: "const [first = ''] = runs",
    reason: 'where there is no run, joining them does not give the PIN',
  },
]

const oneExit =
  'it is caught by the one exit of the primitive, whose code is thrown whatever the inner one was'
const refusedAnyway =
  'OpenSSL refuses the same by itself, and the one exit hides which of the two it was'
const cutToMeasure =
  'the text was cut to as many characters as the expression takes: it cannot match less or more of it'
const notAnObject =
  'what is no object has none of the members that are asked for, and is refused for that'
const sixteenNibbles = 'a field of another length has not sixteen nibbles, and is refused for that'
const matchedWhole =
  'a group of an expression that matched is there: the default is for the types alone'

/** Inside of an `orRefuse` the code of a refusal is not seen. */
const innerCodes: readonly Equivalent[] = [
  { file: 'src/crypto/jwe.ts', line: "efuse('jwe_refused'" },
  { file: 'src/crypto/key-agreement.ts', line: "refuse('agreement_refused')" },
  { file: 'src/crypto/key-block.ts', line: "refuse('key_block_refused')" },
].map((where) => ({ ...where, replacement: '""', reason: oneExit }))

export const cryptoEquivalents: readonly Equivalent[] = [
  ...innerCodes,
  {
    file: 'src/crypto/jwe.ts',
    line: "if (typeof x !== 'string' || typeof y !== 'string')",
    reason: refusedAnyway,
  },
  {
    file: 'src/crypto/jwe.ts',
    line: "const [protectedHeader = '', encryptedKey, iv = '', ciphertext = '', tag = ''",
    reason: 'fewer than five parts do not open, whatever stands for those that are missing',
  },
  {
    file: 'src/crypto/key-agreement.ts',
    line: 'if (sharedSecret.every((byte) => byte === 0))',
    reason: refusedAnyway,
  },
  {
    file: 'src/crypto/key-agreement.ts',
    line: 'const isP256 = asymmetricKeyDetails?.namedCurve',
    reason: refusedAnyway,
  },
  {
    file: 'src/crypto/aes-gcm.ts',
    line: 'requireLengths(key, iv)',
    replacement: ';',
    reason: refusedAnyway,
  },
  {
    file: 'src/crypto/key-block-header.ts',
    line: "const { id = '', length = '' } = short",
    reason: matchedWhole,
  },
  {
    file: 'src/crypto/key-block-header.ts',
    line: 'if (!/^0[1-4]$/.test(text.slice(at, at + 2)))',
    replacement: '/0[1-4]$/',
    reason: cutToMeasure,
  },
  {
    file: 'src/crypto/key-block-header.ts',
    line: 'if (!/^0[1-4]$/.test(text.slice(at, at + 2)))',
    replacement: '/^0[1-4]/',
    reason: cutToMeasure,
  },
  {
    file: 'src/crypto/key-block-header.ts',
    line: 'const isLength = length.length === 2 * bytes',
    replacement: 'true',
    reason:
      'a text that ends within a length ends before what it is the length of, and is refused for that',
  },
  {
    file: 'src/crypto/key-block-header.ts',
    line: 'if (!isSized || blocks.length > 99',
    replacement: 'false',
    reason:
      'a hundred blocks or ten thousand characters make a header that is refused when it is read back',
  },
  {
    file: 'src/crypto/key-block.ts',
    line: 'key.length > 0x1fff',
    reason: 'such a key makes a block of more than 9,999 characters, which is refused for that',
  },
  {
    file: 'src/crypto/key-block.ts',
    line: 'body.length < 2 * unit',
    replacement: 'false',
    reason: 'where there are no key data there is no length of a key to be read',
  },
  {
    file: 'src/crypto/key-block.ts',
    line: 'body.length < 2 * unit',
    replacement: '2 / unit',
    reason: 'where there are no key data there is no length of a key to be read',
  },
  {
    file: 'src/crypto/jwe.ts',
    line: "if (!isObject(header)) return refuse('jwe_refused')",
    replacement: 'false',
    reason: notAnObject,
  },
  {
    file: 'src/crypto/jwe.ts',
    line: "return typeof value === 'object' && value !== null && !Array.isArray(value)",
    reason: notAnObject,
  },
  {
    file: 'src/crypto/jwe.ts',
    line: "return typeof value === 'string' ? decode(value)",
    replacement: 'true',
    reason: 'what is no text is not what it is when it is decoded and encoded again',
  },
  {
    file: 'src/crypto/key-agreement.ts',
    line: "const { x = '', y } = pair.publicKey.export",
    replacement: '"Stryker was here!"',
    reason: 'a public key that is exported has an x: the default is for the types alone',
  },
  {
    file: 'src/crypto/pin-block-format-1.ts',
    line: 'nibble <= 15',
    replacement: 'true',
    reason: 'four bits are at most 15',
  },
  {
    file: 'src/crypto/pin-block-format-1.ts',
    line: 'if (block.length !== 8)',
    replacement: 'false',
    reason: sixteenNibbles,
  },
  {
    file: 'src/crypto/pin-field.ts',
    line: 'while (fill.length < length)',
    replacement: 'fill.length <= length',
    reason: 'what is drawn too much is cut off',
  },
  {
    file: 'src/crypto/rsa-oaep-padding.ts',
    line: 'if (encoded.length < 2 * hashLength + 2)',
    replacement: '2 * hashLength - 2',
    reason: 'four bytes fewer hold no whole hash with a one after it, and are refused for that',
  },
  {
    file: 'src/crypto/rsa-oaep-padding.ts',
    line: '(encoded[0] ?? 1)',
    replacement: 'encoded[0] && 1',
    reason: 'both are 0 for a byte that is 0, and nothing else is',
  },
  {
    file: 'src/crypto/rsa-oaep-padding.ts',
    line: '(at + 1) * (isLooked & isOne)',
    replacement: '(at + 1) / (isLooked & isOne)',
    reason: 'a number by 1 is itself, and by 0 infinite, of which no bit is set',
  },
  {
    file: 'src/crypto/tdes-keys.ts',
    line: 'const next = parts[at + 1]',
    replacement: 'at - 1',
    reason: 'two parts are neighbours from either side',
  },
]
