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

export const equivalents: readonly Equivalent[] = []

/** The entry that explains a mutant, if there is one. */
export const equivalentOf = (mutant: TestedMutant, sourceLine: string): Equivalent | undefined =>
  equivalents.find(
    ({ file, line, replacement }) =>
      file === mutant.file &&
      sourceLine.includes(line) &&
      (replacement === undefined || replacement === mutant.replacement),
  )
