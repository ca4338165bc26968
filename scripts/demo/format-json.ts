/** JSON for a person: on one line where it fits, otherwise a line a member. */
export function formatJson(value: unknown, width: number, indent = ''): string {
  const line = onOneLine(value)
  if (line.length + indent.length <= width || typeof value !== 'object' || value === null) {
    return line
  }
  const inner = `${indent}  `
  const isArray = Array.isArray(value)
  const members = isArray
    ? value.map((member) => formatJson(member, width, inner))
    : Object.entries(value).map(
        ([name, member]) => `${JSON.stringify(name)}: ${formatJson(member, width, inner)}`,
      )
  const [open, close] = isArray ? '[]' : '{}'
  return `${open}\n${inner}${members.join(`,\n${inner}`)}\n${indent}${close}`
}

function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}: ${onOneLine(member)}`,
  )
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
