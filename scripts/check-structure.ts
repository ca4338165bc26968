/**
 * `npm run check:structure [-- <root>]`: checks the code against ARCHITECTURE.md and prints its
 * figures. structure/arrows.ts has the permitted imports between rooms, structure/rules.ts the
 * rules for each file, and structure/figures.ts the figures, which have no limits.
 */
import { resolve } from 'node:path'
import { type Figure, measureSources } from './structure/figures.ts'
import { listLongLinesOfSql, readSources, type Source } from './structure/read-source.ts'
import { describeLongLine, rules } from './structure/rules.ts'

export type StructureReport = {
  faults: readonly string[]
  figures: readonly Figure[]
  summary: string
}

export const checkStructure = (root: string): StructureReport => {
  const everything = readSources(root)
  const sources = everything.filter(({ path }) =>
    /^(?:src|web|packages|examples\/demo)\//.test(path),
  )
  return {
    faults: [
      ...sources.flatMap((source) => rules.flatMap((rule) => rule(source))),
      ...listLongLinesOfSql(root).map(describeLongLine),
    ],
    figures: measureSources(everything),
    summary: summarize(sources),
  }
}

const summarize = (sources: readonly Source[]): string => {
  const lengths = sources
    .flatMap(({ functions }) => functions.map(({ lineCount }) => lineCount))
    .sort((a, b) => a - b)
  const quantile = (share: number): number =>
    lengths[Math.min(lengths.length - 1, Math.floor(lengths.length * share))] ?? 0
  const lines = sources.reduce((sum, { lineCount }) => sum + lineCount, 0)
  return (
    `structure: ${sources.length} files, ${lines} lines, ${lengths.length} functions; ` +
    `function length: median ${quantile(0.5)}, 90th percentile ${quantile(0.9)}`
  )
}

const main = (): void => {
  const root = resolve(process.argv[2] ?? resolve(import.meta.dirname, '..'))
  const { faults, figures, summary } = checkStructure(root)
  for (const { name, value } of figures) console.log(`${name}: ${value}`)
  for (const fault of faults) console.error(fault)
  console.log(faults.length === 0 ? summary : `${faults.length} faults; ${summary}`)
  process.exitCode = faults.length === 0 ? 0 : 1
}

if (import.meta.main) main()
