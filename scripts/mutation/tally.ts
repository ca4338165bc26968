import { readFileSync } from 'node:fs'
import type { Equivalent } from './domain-and-crypto-equivalents.ts'
import { equivalentOf } from './equivalents.ts'
import type { TestedMutant } from './tested-mutant.ts'

/** What became of the mutants of one run. */
export type Tally = {
  found: number
  /** Of those, the ones that were found because no test ended any more. */
  endless: number
  /** Explained in the list of equivalents; they count for nothing. */
  readonly explained: Set<Equivalent>
  equivalent: number
  readonly survivors: TestedMutant[]
}

export const emptyTally = (): Tally => ({
  found: 0,
  endless: 0,
  explained: new Set(),
  equivalent: 0,
  survivors: [],
})

/** Adds a mutant, and prints it if it survived without an explanation. */
export const count = (tally: Tally, mutant: TestedMutant): void => {
  if (mutant.isFound) {
    tally.found += 1
    if (mutant.isEndless) tally.endless += 1
    return
  }
  const source = lineOf(mutant)
  const explained = equivalentOf(mutant, source)
  if (explained) {
    tally.explained.add(explained)
    tally.equivalent += 1
    return
  }
  tally.survivors.push(mutant)
  console.log(`survived: ${mutant.file}:${mutant.line}:${mutant.column} ${mutant.mutator}`)
  console.log(`  - ${source.trim()}\n  + ${mutant.replacement.split('\n').join('\n    ')}`)
}

const lineOf = ({ file, line }: TestedMutant): string =>
  readFileSync(file, 'utf8').split('\n')[line - 1] ?? ''

/** The share of mutants that were found, in per cent; 100 where there were none. */
export const scoreOf = ({ found, survivors }: Tally): number => {
  const all = found + survivors.length
  return all === 0 ? 100 : (100 * found) / all
}

export const describeTally = (name: string, tally: Tally): string =>
  `${name}: ${scoreOf(tally).toFixed(1)} %, ${tally.found} found (${tally.endless} without an end), ${tally.survivors.length} survived, ` +
  `${tally.equivalent} equivalent`
