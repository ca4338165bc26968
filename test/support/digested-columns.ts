import { readFileSync } from 'node:fs'
import type { DigestedTable } from '../../src/storage/audit-log/digested-columns.ts'
import { splitStatements } from '../../src/storage/engine/statements.ts'

function readStatement(module: 'card-digests' | 'checks', name: string): string {
  const file = new URL(`../../src/storage/audit-log/${module}.sql`, import.meta.url)
  const text = splitStatements(readFileSync(file, 'utf8')).get(name)
  if (text === undefined) throw new Error(`${file.pathname} has no statement ${name}.`)
  return text
}

/** The columns of each digest in a statement, as SQL. */
const listColumns = (text: string): readonly string[] =>
  [...text.matchAll(/json_build_array\(([\s\S]*?)\)::text/g)].map(([, columns = '']) => columns)

/** The columns of a card of which digests are made, group by group, as SQL. */
export const readCardColumns = (): readonly string[] =>
  listColumns(readStatement('card-digests', 'list_digested_cards'))

/** The key of a table's rows and the columns of their digest, as SQL. */
export function readRowColumns(table: DigestedTable): readonly string[] {
  const text = readStatement('checks', `list_digested_rows_of_${table}`)
  return [text.match(/^select (.+?) as "rowKey"/)?.[1] ?? '', ...listColumns(text)]
}

/** The digest of a table's row, as SQL. */
export const readRowDigest = (table: DigestedTable): string =>
  readStatement('checks', `list_digested_rows_of_${table}`).match(
    /(sha256[\s\S]+) as "digest"/,
  )?.[1] ?? ''
