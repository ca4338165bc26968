/**
 * Mutants that no test can find, each with its reason. A line of code is named by what stands in it, so
 * that the list outlives lines that move; an entry that fits no mutant any more fails the run of its room.
 */
import {
  cryptoEquivalents,
  domainEquivalents,
  type Equivalent,
} from './domain-and-crypto-equivalents.ts'
import type { TestedMutant } from './tested-mutant.ts'

export const equivalents: readonly Equivalent[] = [
  ...domainEquivalents,
  ...cryptoEquivalents,
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
  {
    file: 'src/operations/authorizations/authorize.ts',
    line: 'if (!kind || remainingTries(presented.card)[kind] === 0) {',
    replacement: 'false',
    reason: 'where no try is left none is spent by the statement either, which this spares',
  },
  {
    file: 'src/operations/authorizations/authorize.ts',
    line: 'return cvv2 !== undefined && hsm.verifyCvv2',
    replacement: 'true',
    reason: 'a CVV2 is compared only where one was asked: the condition is for the types alone',
  },
  {
    file: 'src/operations/authorizations/answer.ts',
    line: 'remembered.ageSeconds >= lostAfterSeconds',
    replacement: 'remembered.ageSeconds > lostAfterSeconds',
    reason: 'an age is told in fractions of a second',
  },
  {
    file: 'src/operations/authorizations/present-card.ts',
    line: "return { objection: '54', card, isExpiryWrong: true }",
    replacement: 'false',
    reason: 'whether it is there is asked, and not what it is',
  },
  {
    file: 'src/operations/authorizations/answer.ts',
    line: 'if (keyed && claimId !== null) {',
    replacement: 'keyed || claimId !== null',
    reason: 'a request has both, or neither',
  },
  {
    file: 'src/operations/authorizations/answer.ts',
    line: 'if (keyed && claimId !== null) {',
    replacement: 'true',
    reason: 'a request has both, or neither',
  },
  {
    file: 'src/operations/authorizations/answer.ts',
    line: 'waitedMs < waitMs; waitedMs += lookEveryMs',
    replacement: 'waitedMs <= waitMs',
    reason: 'how often it is looked is no promise',
  },
  {
    file: 'src/operations/authorizations/authorize.ts',
    line: 'return pinBlock !== null && hsm.verifyPin',
    replacement: 'true',
    reason: 'a PIN is compared only where a block was opened: the condition is for the types alone',
  },
  {
    file: 'src/operations/authorizations/answer.ts',
    line: 'if (answer) return idempotency.replayAnswer',
    replacement: 'false',
    reason: 'what is recorded as lost gets the answer that stands, and that is this one',
  },
  {
    file: 'src/operations/idempotency/idempotency.ts',
    line: "if (!active) throw new Error('A request has no fingerprint.')",
    reason: 'there is always an active version of the key: the condition is for the types alone',
  },
  {
    file: 'src/operations/idempotency/idempotency.ts',
    line: "throw new Problem('idempotency_key_in_use', { cause: error })",
    replacement: '{}',
    reason: 'the cause is for the log alone',
  },
  {
    file: 'src/operations/idempotency/idempotency.ts',
    line: "new Error('This request has not been answered yet.')",
    reason: 'it is caught where it is thrown, and nobody reads it',
  },
  {
    file: 'src/operations/idempotency/idempotency.ts',
    line: 'if (!request) return null',
    replacement: 'false',
    reason: 'without a key the work runs and throws, which comes to the same',
  },
  {
    file: 'src/operations/idempotency/idempotency.ts',
    line: 'if (error === unanswered) return null',
    replacement: 'true',
    reason: 'a recall only spares work: what is refused here is refused by the act itself, too',
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
