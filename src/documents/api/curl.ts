import {
  type ApiDocument,
  type Parameter,
  type PlacedOperation,
  resolveReference,
} from './openapi.ts'

/** `publicToken` is `$PUBLIC_TOKEN`: set once, it serves every command that is pasted. */
const shellVariable = (name: string): string =>
  `$${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`

/** A command that makes the call, with `$TOKEN` and the path's parameters as shell variables. */
export function curlCommand(operation: PlacedOperation, document: ApiDocument): string {
  const { method, path, requestBody } = operation
  const parameters = (operation.parameters ?? []).map((each) =>
    resolveReference<Parameter>(each, document.components.parameters),
  )
  const example = requestBody?.content['application/json']?.example
  const query = parameters
    .filter(({ in: place, required }) => place === 'query' && required)
    .map(({ name, schema }) => `${name}=${schema.examples?.[0] ?? shellVariable(name)}`)
  const [server] = document.servers
  const place = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => shellVariable(name))
  const url = `${server?.url}${place}${query.length > 0 ? `?${query.join('&')}` : ''}`
  const lines = [`curl -sS ${selectMethod(method, example)}"${url}"`]
  if ((operation.security ?? []).length > 0) lines.push('-H "Authorization: Bearer $TOKEN"')
  if (parameters.some(({ name }) => name === 'Idempotency-Key'))
    lines.push('-H "Idempotency-Key: $(date +%s%N)"')
  if (example !== undefined) {
    lines.push("-H 'Content-Type: application/json'")
    const body = JSON.stringify(example, null, 2).replaceAll('\n', '\n  ')
    lines.push(`-d '${body.replaceAll("'", "'\\''")}'`)
  }
  return lines.join(' \\\n  ')
}

/** curl defaults to GET, and to POST with a body. */
const selectMethod = (method: string, example: unknown): string =>
  method === (example === undefined ? 'GET' : 'POST') ? '' : `-X ${method} `
