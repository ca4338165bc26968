/** Rows in columns, for a person, under their names. */
export function table(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  if (rows.length === 0) return 'There is none.'
  const lines = [columns, ...rows.map((row) => row.map(cellOf))]
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** The members of one record, one a line. */
export function sheet(record: object): string {
  const entries = Object.entries(record)
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${cellOf(value)}`).join('\n')
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map(cellOf).join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
