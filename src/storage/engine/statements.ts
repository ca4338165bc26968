import { readFileSync } from 'node:fs'
import { type Connection, type SqlValue, statement } from './database.ts'

/** Runs a statement with a value for each of its parameters. One round trip. */
type RunStatement<Parameters, Row> = (
  connection: Pick<Connection, 'query'>,
  values: Parameters,
) => Promise<Row[]>

type Values<Parameters> = { readonly [Name in keyof Parameters]: SqlValue }

/**
 * Reads the statements of the `.sql` file beside a module. In it, each statement follows a line `-- name: find_link` and
 * takes its parameters by name, as `:linkName`.
 * @param moduleUrl the module's `import.meta.url`.
 * @returns what gives one of them, by its name. `test/storage/statements.test.ts` holds the types that are named there to
 * the parameters and columns that the database knows.
 */
export function loadStatements(moduleUrl: string) {
  const file = new URL(moduleUrl.replace(/\.[jt]s$/, '.sql'))
  const texts = splitStatements(readFileSync(file, 'utf8'))
  return <Parameters extends Values<Parameters>, Row = object>(
    name: string,
  ): RunStatement<Parameters, Row> => {
    const written = texts.get(name)
    if (written === undefined) throw new Error(`${file.pathname} has no statement ${name}.`)
    const { parameters, text } = numberParameters(written)
    const prepared = statement(name, text)
    return (connection, values) =>
      connection.query(
        prepared,
        parameters.map((parameter) => values[parameter as keyof Parameters]),
      )
  }
}

/** The statements of a file, by their names, without comments. */
export function splitStatements(source: string): ReadonlyMap<string, string> {
  const [, ...parts] = source.split(/^-- name: /m)
  return new Map(
    parts.map((part) => {
      const [name = '', ...lines] = part.split('\n')
      const text = lines.filter((line) => !line.trimStart().startsWith('--')).join('\n')
      return [name.trim(), text.trim().replace(/;$/, '')]
    }),
  )
}

/** Quoted texts, casts and named parameters: the first two are left as they are. */
const parameterPattern = /'(?:[^']|'')*'|"[^"]*"|::|:([a-z]\w*)/g

/** Gives parameters the numbers that the server knows them by, in the order in which they first appear. */
export function numberParameters(written: string): {
  readonly text: string
  readonly parameters: readonly string[]
} {
  const parameters: string[] = []
  const text = written.replace(parameterPattern, (found, name: string | undefined) => {
    if (name === undefined) return found
    if (!parameters.includes(name)) parameters.push(name)
    return `$${parameters.indexOf(name) + 1}`
  })
  return { text, parameters }
}
