/** Mutants of SQL that no test can find, each with its reason. */

type SqlEquivalent = { readonly name: string; readonly what: string; readonly reason: string }

const sqlEquivalents: readonly SqlEquivalent[] = []

/** Why a mutant changes nothing that can be seen; `what` is how the mutators describe it, or begins so. */
export const sqlEquivalentOf = (name: string, what: string): string | undefined =>
  sqlEquivalents.find((each) => each.name === name && what.startsWith(each.what))?.reason
