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
    file: 'src/authorizing/authorize.ts',
    line: 'if (!first || !card || remainingOf(card, first) === 0)',
    replacement: '!first && !card',
    reason: 'of a kind that is none there is no counter, and no try is spent',
  },
  {
    file: 'src/authorizing/authorize.ts',
    line: 'kindsOf(presented, question) : []',
    replacement: '["Stryker was here"]',
    reason: 'of a kind that is none there is no counter, and no try is spent',
  },
  {
    file: 'src/authorizing/authorize.ts',
    line: 'if (pvv !== null) return { pinBlock: null, pvv, pinKey }',
    replacement: 'true',
    reason: 'the database keeps no card that has neither a PIN block nor a PVV',
  },
  {
    file: 'src/authorizing/authorize.ts',
    line: "throw new Error('A card has no PIN.')",
    reason: 'the database keeps no card that has neither a PIN block nor a PVV',
  },
  {
    file: 'src/authorizing/authorization-schema.ts',
    line: 'examples: [',
    reason: 'an example is for the document alone, which is held to the schema by npm run check',
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
