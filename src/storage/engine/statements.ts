import { readFileSync } from 'node:fs'
import {
  type Connection,
  type Database,
  type SharedStatement,
  type SqlScalar,
  type SqlValue,
  statement,
} from './database.ts'

/** Runs a statement with a value for each of its parameters, in one round trip. */
type RunStatement<Parameters, Row> = (
  connection: Pick<Connection, 'query'>,
  values: Parameters,
) => Promise<Row[]>

type Values<Parameters> = { readonly [Name in keyof Parameters]: SqlValue }

/**
 * Reads the statements of the `.sql` file beside a module. A line `-- name: find_link` precedes
 * each statement, which names its parameters, as `:linkName`.
 * @param moduleUrl the module's `import.meta.url`.
 * @returns a function that returns a statement by name. `npm run check:statements` compares the
 *   types in its call with the parameters and columns of the database.
 */
export function loadStatements(moduleUrl: string) {
  const findText = readTexts(moduleUrl)
  return <Parameters extends Values<Parameters>, Row = object>(
    name: string,
  ): RunStatement<Parameters, Row> => {
    const { parameters, text } = numberParameters(findText(name))
    const prepared = statement(name, text)
    return (connection, values) =>
      connection.query(prepared, listValues<SqlValue>(name, parameters, values))
  }
}

/** Finds the text of a statement in the `.sql` file beside a module. */
function readTexts(moduleUrl: string): (name: string) => string {
  const file = new URL(moduleUrl.replace(/\.[jt]s$/, '.sql'))
  const texts = splitStatements(readFileSync(file, 'utf8'))
  return (name) => {
    const text = texts.get(name)
    if (text === undefined) throw new Error(`${file.pathname} has no statement ${name}.`)
    return text
  }
}

/** Lists the values of a statement's parameters, in the order of the parameters. */
const listValues = <Value>(name: string, parameters: readonly string[], values: object): Value[] =>
  parameters.map((parameter) => {
    const value = (values as Readonly<Record<string, Value | undefined>>)[parameter]
    if (value === undefined) throw new Error(`${name} has no value for :${parameter}.`)
    return value
  })

/** Reads the row of a key, together with other reads in the same turn. */
type ReadShared<Key, Row> = (database: Pick<Database, 'readRow'>, key: Key) => Promise<Row | null>

/** Does an act of one subject, together with the same act of other subjects in the same turn. */
type ActShared<Parameters, Row> = (
  database: Pick<Database, 'change'>,
  subject: string,
  values: Parameters,
) => Promise<Row | null>

type Scalars<Parameters> = { readonly [Name in keyof Parameters]: SqlScalar }

/**
 * Reads statements that several callers share. Each has two texts in the `.sql` file beside the
 * module: `find_card` for one caller, and `find_card_several` for several. The second takes a list
 * instead of each value, under the plural of its name (`:publicTokens`), and returns the caller's
 * `ordinal` in each row.
 */
export function loadSharedStatements(moduleUrl: string) {
  const findText = readTexts(moduleUrl)
  const load = (name: string, isRead: boolean) => {
    const one = numberParameters(findText(name))
    const lists = one.parameters.map(pluralize)
    const several = numberParameters(findText(`${name}_several`), lists)
    const shared: SharedStatement = {
      isRead,
      one: statement(name, one.text),
      several: statement(`${name}_several`, several.text),
    }
    return { shared, parameters: one.parameters }
  }
  return {
    declareRead<Key extends Scalars<Key>, Row = object>(name: string): ReadShared<Key, Row> {
      const { parameters, shared } = load(name, true)
      return (database, key) =>
        database.readRow<Row>(shared, listValues<SqlScalar>(name, parameters, key))
    },
    declareAct<Parameters extends Scalars<Parameters>, Row = object>(
      name: string,
    ): ActShared<Parameters, Row> {
      const { parameters, shared } = load(name, false)
      return (database, subject, values) =>
        database.change<Row>(shared, subject, listValues<SqlScalar>(name, parameters, values))
    },
  }
}

/** Returns the name of a list of values: `publicTokens`. */
export const pluralize = (parameter: string): string =>
  parameter.endsWith('s') ? parameter : `${parameter}s`

/**
 * Splits a file into its statements by name, without comments. A comment has a line of its own.
 * @throws Error if a name occurs twice.
 */
export function splitStatements(source: string): ReadonlyMap<string, string> {
  const [, ...parts] = source.split(/^-- name: /m)
  const texts = new Map<string, string>()
  for (const part of parts) {
    const [name = '', ...lines] = part.split('\n')
    if (texts.has(name)) throw new Error(`Two statements are called ${name}.`)
    const text = lines.filter((line) => !line.trimStart().startsWith('--')).join('\n')
    texts.set(name, text.trim().replace(/;$/, ''))
  }
  return texts
}

/**
 * Texts that would be misread as parameters or hide them: other quotes, comments after code, a
 * second statement, and the end of a slice that touches its colon (write `[1 : n]` for `[1:n]`).
 */
const unreadable = /\$\$|--|\/\*|;|(?<!\barray)\[(?:[^\]:]+:[a-z]|:\w+\])/i

const escapedQuote = /\be'[^']*\\'/i

const quotedOrCast = /'(?:[^']|'')*'|"[^"]*"|::/g

/** Quoted texts, which stay unchanged, and named parameters. */
const parameterPattern = new RegExp(`${quotedOrCast.source}|:([a-z]\\w*)`, 'g')

/**
 * Numbers the parameters for the server: in the given order, or in the order of their first
 * occurrence.
 * @throws Error if the text has an ambiguous part, or a parameter that is not in the order.
 */
export function numberParameters(
  written: string,
  order: readonly string[] | null = null,
): { readonly text: string; readonly parameters: readonly string[] } {
  const found = escapedQuote.exec(written) ?? unreadable.exec(written.replace(quotedOrCast, '#'))
  if (found) throw new Error(`A statement cannot have ${JSON.stringify(found[0])}: ${written}`)
  const parameters = [...(order ?? [])]
  const text = written.replace(parameterPattern, (whole, name: string | undefined) => {
    if (name === undefined) return whole
    if (!parameters.includes(name)) {
      if (order) throw new Error(`A statement has :${name}, and is given only ${order}: ${written}`)
      parameters.push(name)
    }
    return `$${parameters.indexOf(name) + 1}`
  })
  return { text, parameters }
}
