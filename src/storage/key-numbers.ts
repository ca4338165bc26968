import { type Connection, firstRow, statement } from './database.ts'

// A program from before there were numbers may have made a version without taking one.
const takeStatement = statement(
  'take_key_number',
  `insert into hsm_key_number (key_name, last_version)
   values ($1, 1 + coalesce((select max(key_version) from hsm_key where key_name = $1), 0))
   on conflict (key_name) do update
     set last_version = greatest(hsm_key_number.last_version + 1, excluded.last_version)
   returning last_version as "keyVersion"`,
)

/** The number of a key's next version: one that none had, also of those that were deleted. */
export async function takeKeyNumber(connection: Connection, keyName: string): Promise<number> {
  const row = firstRow<{ keyVersion: number }>(await connection.query(takeStatement, [keyName]))
  if (!row) throw new Error('The database gave no number.')
  return row.keyVersion
}
