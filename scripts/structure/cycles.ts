import type { Source } from './read-source.ts'

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
