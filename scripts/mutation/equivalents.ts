/**
 * Mutants that no test can find, each with its reason. A line of code is named by what stands in it, so
 * that the list outlives lines that move; an entry that fits no mutant any more fails the run of its room.
 */
import { cryptoEquivalents } from './crypto-equivalents.ts'
import { domainEquivalents } from './domain-equivalents.ts'
import type { Equivalent } from './equivalent.ts'
import type { TestedMutant } from './tested-mutant.ts'

export const equivalents: readonly Equivalent[] = [
  ...domainEquivalents,
  ...cryptoEquivalents,
  {
    file: 'src/operations/authorizations/authorize.ts',
    line: 'if (!first || !presented.card || remainingTries(presented.card)[first] === 0)',
    replacement: '!first && !presented.card',
    reason: 'of a kind that is none there is no counter, and no try is spent',
  },
  {
    file: 'src/operations/authorizations/authorize.ts',
    line: 'if (presented.objection !== null) return []',
    replacement: '["Stryker was here"]',
    reason: 'of a kind that is none there is no counter, and no try is spent',
  },
  {
    file: 'src/operations/authorizations/authorize.ts',
    line: 'if (pvv !== null) return { pinBlock: null, pvv, pinKey }',
    replacement: 'true',
    reason: 'the database keeps no card that has neither a PIN block nor a PVV',
  },
  {
    file: 'src/operations/authorizations/authorize.ts',
    line: "throw new Error('A card has no PIN.')",
    reason: 'the database keeps no card that has neither a PIN block nor a PVV',
  },
  {
    file: 'src/operations/authorizations/authorization.ts',
    line: 'examples: [',
    reason: 'an example is for the document alone, which is checked by npm run check',
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
