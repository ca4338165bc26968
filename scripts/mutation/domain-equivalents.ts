/** Mutants of src/domain that no test can find, each with its reason. */
import type { Equivalent } from './equivalent.ts'

const splitsAtLeastOnce =
  'a text that is split has a first part: the default is for the types alone'
const undefinedEither =
  'the members of what did not match are undefined, whatever else the list holds'

export const domainEquivalents: readonly Equivalent[] = [
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
    file: 'src/domain/cidr.ts',
    line: "const [address = '', prefix, ...rest]",
    replacement: '"Stryker was here!"',
    reason: splitsAtLeastOnce,
  },
  {
    file: 'src/domain/cidr.ts',
    line: 'if (bits < 0 || rest.length > 0)',
    replacement: 'bits <= 0',
    reason: 'bits is 32, 128 or -1',
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
]
