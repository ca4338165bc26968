/** A mutant that no test can find: what it does cannot be told from what the code does. */
export type Equivalent = {
  readonly file: string
  /** Part of the source line in which the mutant begins. */
  readonly line: string
  /** Only mutants that put this there; left out: every mutant of the line that survives. */
  readonly replacement?: string
  readonly reason: string
}
