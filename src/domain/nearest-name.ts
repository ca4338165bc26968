/**
 * Returns the known name that a mistyped name most probably means, or null if no name is similar.
 * The limit is one mistake in names of up to five characters, and two in longer names.
 */
export function findNearestName(typed: string, known: readonly string[]): string | null {
  const near = known
    .map((name) => ({ name, mistakes: countMistakes(typed, name) }))
    .filter(({ mistakes, name }) => mistakes <= (Math.min(typed.length, name.length) > 5 ? 2 : 1))
    .toSorted((one, other) => one.mistakes - other.mistakes)
  return near[0]?.name ?? null
}

/** Counts the characters to insert, delete, replace or swap (optimal string alignment). */
function countMistakes(typed: string, name: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: name.length + 1 }, (_, at) => at)
  for (let row = 1; row <= typed.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= name.length; column += 1) {
      const isSame = typed[row - 1] === name[column - 1]
      const isExchanged =
        row > 1 &&
        column > 1 &&
        typed[row - 1] === name[column - 2] &&
        typed[row - 2] === name[column - 1]
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isExchanged ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    beforeLast = last
    last = current
  }
  return last[name.length] ?? 0
}
