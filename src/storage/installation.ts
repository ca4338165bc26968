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

const isThereStatement = statement(
  'has_installation_table',
  `select to_regclass('installation') is not null as "isThere"`,
)

/** What a database remembers, or null: it may be new, even to having no tables. */
export async function findInstallation(connection: Connection): Promise<Installation | null> {
  const table = firstRow<{ isThere: boolean }>(await connection.query(isThereStatement))
  return table?.isThere ? firstRow(await connection.query<Installation>(findStatement)) : null
}

/** Makes a new database remember this installation. @returns what it remembers: the first one. */
export async function rememberInstallation(
  connection: Connection,
  { kind, masterKeyCheckValue }: Installation,
): Promise<Installation> {
  await connection.query(insertStatement, [kind, masterKeyCheckValue])
  const remembered = await findInstallation(connection)
  if (!remembered) throw new Error('The database did not keep its installation row.')
  return remembered
}

const findCheckValueStatement = statement(
  'find_master_key_check_value',
  'select master_key_check_value as "checkValue" from installation',
)

/** Check value of the master key that this installation is under. */
export const findMasterKeyCheckValue = async (connection: Connection): Promise<string> =>
  checkValueIn(await connection.query(findCheckValueStatement))

const holdStatement = statement(
  'hold_installation',
  'select master_key_check_value as "checkValue" from installation for update',
)

/**
 * Holds the installation until the transaction ends: who keeps, takes away or wraps keys does so one
 * at a time. @returns the check value of the master key.
 */
export const holdInstallation = async (connection: Connection): Promise<string> =>
  checkValueIn(await connection.query(holdStatement))

function checkValueIn(rows: readonly { readonly checkValue: string }[]): string {
  const row = firstRow(rows)
  if (!row) throw new Error('The database has no installation row.')
  return row.checkValue
}

const setCheckValueStatement = statement(
  'set_master_key_check_value',
  'update installation set master_key_check_value = $1',
)

/** Puts the installation under another master key. */
export const setMasterKeyCheckValue = async (
  connection: Connection,
  checkValue: string,
): Promise<void> => {
  await connection.query(setCheckValueStatement, [checkValue])
}

const pingStatement = statement('ping', 'select 1 as one')

/** Answers when the database does. */
export const pingDatabase = async (connection: Connection): Promise<void> => {
  await connection.query(pingStatement)
}
