/** An operation of an OpenAPI document, as far as the table needs it. */
interface Operation {
  readonly operationId: string
  readonly security?: readonly object[]
  readonly parameters?: readonly { readonly name?: string; readonly $ref?: string }[]
}

const introduction = `// Generated from api/private.openapi.json by npm run generate.
/** The operations of the private listener that need a token, by their names. */
export const operationTable = {
`

/** Writes the table by which the SDK's client of the private listener calls its operations. */
export function generateOperations(document: string): string {
  const { paths } = JSON.parse(document) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  }
  const entries = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, { security = [] }]) => security.length > 0)
      .map(([method, operation]) => {
        const members = [
          `method: '${method.toUpperCase()}'`,
          `path: '${path}'`,
          `calls: '${selectCalls(method, operation)}'`,
        ]
        return writeEntry(operation.operationId, members)
      }),
  )
  return `${introduction}${entries.sort().join('')}} as const\n`
}

/** Writes an operation in one line, or with a line for each member where that is too long. */
function writeEntry(name: string, members: readonly string[]): string {
  const line = `  ${name}: { ${members.join(', ')} },\n`
  if (line.length <= 101) return line
  return `  ${name}: {\n${members.map((member) => `    ${member},\n`).join('')}  },\n`
}

function selectCalls(method: string, { parameters = [] }: Operation): string {
  if (parameters.some(({ name }) => name === 'cursor')) return 'pages'
  const isKeyed = parameters.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey'))
  if (isKeyed) return 'keyed'
  return method === 'get' ? 'reads' : 'once'
}
