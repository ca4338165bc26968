/** Ranges of entries. */

/** Entries of a log from one to another, both included. */
export type Range = readonly [from: number, to: number]

/**
 * Parses the ranges that an entry names: pairs of whole numbers in ascending order. Returns null
 * for anything else.
 */
export function rangesIn(member: unknown): Range[] | null {
  if (!Array.isArray(member)) return null
  const ranges = member.flatMap((pair: unknown): Range[] => {
    const [from, to, ...more]: unknown[] = Array.isArray(pair) ? pair : []
    const isPair = typeof from === 'number' && typeof to === 'number' && more.length === 0
    const isRange = isPair && Number.isSafeInteger(from) && Number.isSafeInteger(to)
    return isRange && from >= 0 && from <= to ? [[from, to]] : []
  })
  return ranges.length === member.length ? ranges : null
}

/** Returns the parts of ordered ranges that other ranges do not cover. */
export function uncovered(ranges: readonly Range[], covers: readonly Range[]): Range[] {
  const sorted = covers.toSorted((one, other) => one[0] - other[0])
  let next = 0
  const left: Range[] = []
  for (const [from, to] of ranges) {
    let at = from
    // Covers may overlap: the previous one may extend into this range.
    for (let cover = sorted[next]; cover && cover[0] <= to; cover = sorted[next]) {
      if (cover[0] > at) left.push([at, cover[0] - 1])
      at = Math.max(at, cover[1] + 1)
      if (cover[1] > to) break
      next += 1
    }
    if (at <= to) left.push([at, to])
  }
  return left
}

/** Counts the entries of ranges that do not overlap. */
export const countEntries = (ranges: readonly Range[]): number =>
  ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0)

/** Describes a range for a person. */
export const describeRange = ([from, to]: Range): string =>
  from === to ? `entry ${from}` : `entries ${from} to ${to}`
