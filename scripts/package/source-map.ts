const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/**
 * Encodes a number of a source map (ECMA-426): groups of five bits, the sign in the lowest bit of
 * the first.
 */
function encodeNumber(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1
  let encoded = ''
  do {
    const group = rest & 31
    rest >>= 5
    encoded += digits[rest > 0 ? group | 32 : group]
  } while (rest > 0)
  return encoded
}

/**
 * Composes the map of a program made by blanking types: every word keeps its line and column, so
 * each maps to the same position.
 */
export function mapInPlace(sourceName: string, source: string, program: string): string {
  let lastLine = 0
  let lastColumn = 0
  const mappings = program.split('\n').map((text, line) => {
    let column = 0
    const segments = [...text.matchAll(/[\w$]+/g)].map(({ index }) => {
      const moved = [index - column, 0, line - lastLine, index - lastColumn]
      column = index
      lastLine = line
      lastColumn = index
      return moved.map(encodeNumber).join('')
    })
    return segments.join(',')
  })
  return JSON.stringify({
    version: 3,
    sources: [sourceName],
    sourcesContent: [source],
    names: [],
    mappings: mappings.join(';'),
  })
}
