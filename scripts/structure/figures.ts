import type { Source } from './read-source.ts'

/** A figure of the house, and whether it is within its bound. */
export type Figure = { name: string; value: string; bound: string; isWithin: boolean }

/** Names that two files export, each with its reason. */
const exportedTwice: Readonly<Record<string, string>> = {}

const exportedTwiceMax = 8

const middle = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0

const percent = (part: number, whole: number): number => (whole === 0 ? 0 : (100 * part) / whole)

const atMost = (name: string, value: number, max: number, unit = ''): Figure => ({
  name,
  value: `${Number(value.toFixed(1))}${unit}`,
  bound: `at most ${max}${unit}`,
  isWithin: value <= max,
})

/** The files of `src` in figures, each with its bound. */
export const figuresOf = (sources: readonly Source[]): Figure[] => {
  const house = sources.filter(({ path }) => path.startsWith('src/'))
  const lines = house.map(({ lineCount }) => lineCount)
  const allLines = lines.reduce((sum, count) => sum + count, 0)
  const importLines = house.reduce((sum, { importLineCount }) => sum + importLineCount, 0)
  const privates = house.flatMap(({ privateFunctions }) => privateFunctions)
  const twice = exportedByTwo(house)
  return [
    // 300 for the house as it was; `engine/database-url.ts` and `engine/sessions.ts` for a database that fails over, and one
    // for the slices of the outbox and the feeds; two for the cluster under it: where its tables lie, and how they come there;
    // and one that declares the statements which several share. The rest for card networks on their own wire: a codec, links,
    // and what operators do with them. Two for the package: the database that comes with it, and `pinfold init`. 50 for the audit
    // log: tree and notes, entries and where they come from, checkpoints, receipts, erasure, checks, witnesses, and commands. 95
    // for the console: its screens and how people sign in, a route and a schema for each thing that operators ask, the record of
    // authorizations, and four eyes.
    atMost('files of src', house.length, 491),
    {
      name: 'lines of the median file',
      value: String(middle(lines)),
      bound: 'at least 80',
      isWithin: middle(lines) >= 80,
    },
    atMost(
      'files under 30 lines',
      percent(lines.filter((count) => count < 30).length, lines.length),
      12,
      ' %',
    ),
    atMost(
      'private functions with one caller',
      percent(privates.filter(({ uses }) => uses === 1).length, privates.length),
      45,
      ' %',
    ),
    atMost('lines of imports', percent(importLines, allLines), 6, ' %'),
    atMost('names that two files export', twice.length, exportedTwiceMax),
    atMost(
      'of these without a reason',
      twice.filter((name) => exportedTwice[name] === undefined).length,
      0,
    ),
    atMost('exports that nobody imports', unimported(sources).length, 0),
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

/** `path#name` of what a file of `src` exports and none imports: nor a test, a script or a benchmark. */
export const unimported = (sources: readonly Source[]): string[] => {
  const taken = new Set(
    sources.flatMap(({ imports }) =>
      imports.flatMap(({ names, path }) => (names ?? ['*']).map((name) => `${path}#${name}`)),
    ),
  )
  return sources
    .filter(({ path }) => path.startsWith('src/'))
    .flatMap(({ exports, path }) => exports.map((name) => `${path}#${name}`))
    .filter((name) => !taken.has(name) && !taken.has(name.replace(/#.*/, '#*')))
}

/** Each circle of files that import one another, once, as `a → b → a`; imports of types count. */
export const importCycles = (sources: readonly Source[]): string[] => {
  const targets = new Map(sources.map(({ path, imports }) => [path, imports.map((to) => to.path)]))
  const finished = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) cycles.push([...trail.slice(start), path].join(' → '))
    if (start >= 0 || finished.has(path)) return
    for (const next of targets.get(path) ?? []) {
      if (next !== undefined && targets.has(next)) visit(next, [...trail, path])
    }
    finished.add(path)
  }
  for (const path of targets.keys()) visit(path, [])
  return cycles
}
