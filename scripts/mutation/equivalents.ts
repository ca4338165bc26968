/**
 * Mutants that no test can find, each with its reason. A line of code is named by what stands in it, so
 * that the list outlives lines that move; an entry that fits no mutant any more fails the run of its room.
 */
import type { TestedMutant } from './tested-mutant.ts'

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

const oneExit =
  'it is caught by the one exit of the primitive, whose code is told whatever the inner one was'
const refusedAnyway =
  'OpenSSL refuses the same by itself, and the one exit hides which of the two it was'
const matchedWhole =
  'a group of an expression that matched is there: the default is for the types alone'

/** Inside of an `orRefuse` the code of a refusal is not seen. */
const innerCodes: readonly Equivalent[] = [
  { file: 'src/crypto/jwe.ts', line: "efuse('jwe_refused'" },
  { file: 'src/crypto/key-agreement.ts', line: "refuse('agreement_refused')" },
  { file: 'src/crypto/key-block.ts', line: "refuse('key_block_refused')" },
].map((where) => ({ ...where, replacement: '""', reason: oneExit }))

export const equivalents: readonly Equivalent[] = [
  ...innerCodes,
  {
    file: 'src/domain/bin-range.ts',
    line: "const [low = '', high = low] = span.split('-')",
    reason: splitsAtLeastOnce,
  },
  {
    file: 'src/domain/bin-range.ts',
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
    file: 'src/domain/expiry.ts',
    line: 'const [, year, month] =',
    replacement: '["Stryker was here"]',
    reason: undefinedEither,
  },
  {
    file: 'src/domain/expiry.ts',
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
    file: 'src/domain/weak-pin.ts',
    line: "shownStretches(maskedPan ?? '')",
    replacement: '"Stryker was here!"',
    reason: 'no digits are shown in either',
  },
  {
    file: 'src/domain/weak-pin.ts',
    line: "const [year, month, day] = dateOfBirth?.split('-')",
    reason: undefinedEither,
  },
  {
    file: 'src/domain/weak-pin.ts',
    line: 'return year && month && day ?',
    reason: 'a date of birth has all three, and one that is unknown none',
  },
  {
    file: 'src/domain/weak-pin.ts',
    line: 'const runs = digits.match',
    replacement: '["Stryker was here"]',
    reason: 'neither list, joined, is the PIN',
  },
  {
    file: 'src/domain/weak-pin.ts',
    line: "const [first = ''] = runs",
    reason: 'where there is no run, joining them does not give the PIN',
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
    line: 'const short = /^',
    reason: 'four characters that match hold no more than the match',
  },
]

/** The entry that explains a mutant, if there is one. */
export const equivalentOf = (mutant: TestedMutant, sourceLine: string): Equivalent | undefined =>
  equivalents.find(
    ({ file, line, replacement }) =>
      file === mutant.file &&
      sourceLine.includes(line) &&
      (replacement === undefined || replacement === mutant.replacement),
  )
