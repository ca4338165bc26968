/** Mutants of src/crypto that no test can find, each with its reason. */
import type { Equivalent } from './equivalent.ts'

const oneExit =
  'it is caught by the one exit of the primitive, whose code is told whatever the inner one was'
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
  { file: 'src/crypto/ephemeral-agreement.ts', line: "refuse('agreement_refused')" },
  { file: 'src/crypto/key-block.ts', line: "refuse('key_block_refused')" },
].map((where) => ({ ...where, replacement: '""', reason: oneExit }))

export const cryptoEquivalents: readonly Equivalent[] = [
  ...innerCodes,
  {
    file: 'src/crypto/jwe.ts',
    line: "privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1'",
    reason: refusedAnyway,
  },
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
    file: 'src/crypto/ephemeral-agreement.ts',
    line: 'if (sharedSecret.every((byte) => byte === 0))',
    reason: refusedAnyway,
  },
  {
    file: 'src/crypto/ephemeral-agreement.ts',
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
    file: 'src/crypto/aes-key-wrap.ts',
    line: 'const name = algorithm(kek, wrapped.length - 8)',
    reason: refusedAnyway,
  },
  {
    file: 'src/crypto/aes-key-wrap.ts',
    line: 'keyLength % 8 !== 0',
    replacement: 'false',
    reason: refusedAnyway,
  },
  {
    file: 'src/crypto/aes-key-wrap.ts',
    line: "return orRefuse('aes_key_wrap_refused'",
    replacement: '""',
    reason: 'what could fail was refused before',
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
    file: 'src/crypto/ephemeral-agreement.ts',
    line: "const { x = '', y } = publicKey.export",
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
    file: 'src/crypto/pin-block-format-2.ts',
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
    file: 'src/crypto/weak-key.ts',
    line: 'const next = parts[at + 1]',
    replacement: 'at - 1',
    reason: 'two parts are neighbours from either side',
  },
]
