import { type Connection, firstRow, statement } from './database.ts'

/** What a database remembers of the installation it belongs to. */
export interface Installation {
  readonly kind: 'sandbox' | 'production'
  readonly masterKeyCheckValue: string
}

const insertStatement = statement(
  'insert_installation',
  `insert into installation (kind, master_key_check_value) values ($1, $2)
   on conflict (singleton) do nothing`,
)
const findStatement = statement(
  'find_installation',
  `select kind, master_key_check_value as "masterKeyCheckValue" from installation`,
)

/** Makes a new database remember this installation. @returns what it remembers: the first one. */
export async function rememberInstallation(
  connection: Connection,
  { kind, masterKeyCheckValue }: Installation,
): Promise<Installation> {
  await connection.query(insertStatement, [kind, masterKeyCheckValue])
  const remembered = firstRow<Installation>(await connection.query(findStatement))
  if (!remembered) throw new Error('The database did not keep its installation row.')
  return remembered
}

const pingStatement = statement('ping', 'select 1 as one')

/** Answers when the database does. */
export const pingDatabase = async (connection: Connection): Promise<void> => {
  await connection.query(pingStatement)
}
