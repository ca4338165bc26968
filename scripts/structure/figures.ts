import type { Source } from './read-source.ts'

/** A figure for information, without a limit. */
export type Figure = { name: string; value: string }

const middle = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0

const percent = (part: number, whole: number): number => (whole === 0 ? 0 : (100 * part) / whole)

const shown = (name: string, value: number, unit = ''): Figure => ({
  name,
  value: `${Number(value.toFixed(1))}${unit}`,
})

/** Computes the figures of `src`. */
export const measureSources = (sources: readonly Source[]): Figure[] => {
  const house = sources.filter(({ path }) => path.startsWith('src/'))
  const lines = house.map(({ lineCount }) => lineCount)
  const allLines = lines.reduce((sum, count) => sum + count, 0)
  const importLines = house.reduce((sum, { importLineCount }) => sum + importLineCount, 0)
  const privates = house.flatMap(({ privateFunctions }) => privateFunctions)
  const small = lines.filter((count) => count < 30)
  const calledOnce = privates.filter(({ uses }) => uses === 1)
  return [
    shown('files of src', house.length),
    shown('lines of the median file', middle(lines)),
    shown('files under 30 lines', percent(small.length, lines.length), ' %'),
    shown('private functions with one caller', percent(calledOnce.length, privates.length), ' %'),
    shown('lines of imports', percent(importLines, allLines), ' %'),
    shown('names that two files export', exportedByTwo(house).length),
  ]
}

const exportedByTwo = (house: readonly Source[]): string[] => {
  const seen = new Set<string>()
  const twice = new Set<string>()
  for (const name of house.flatMap(({ exports }) => [...new Set(exports)])) {
    if (seen.has(name)) twice.add(name)
    seen.add(name)
  }
  return [...twice]
}
