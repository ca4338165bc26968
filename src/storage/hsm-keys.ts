import { type Connection, statement } from './database.ts'

/** One version of a key: of use only to the HSM that holds the master key. */
export interface HsmKeyRow {
  readonly keyName: string
  readonly keyVersion: number
  readonly state: 'pending' | 'active' | 'retired'
  readonly keyBlock: string
  readonly keyCheckValue: string
}

const listStatement = statement(
  'list_hsm_keys',
  `select key_name as "keyName", key_version as "keyVersion", state, key_block as "keyBlock",
     key_check_value as "keyCheckValue"
   from hsm_key order by key_name, key_version`,
)

/** Every key of the installation. */
export const listHsmKeys = (connection: Connection): Promise<HsmKeyRow[]> =>
  connection.query(listStatement)

const insertStatement = statement(
  'insert_hsm_key',
  `insert into hsm_key (key_name, key_version, state, key_block, key_check_value)
   values ($1, $2, $3, $4, $5) on conflict (key_name, key_version) do nothing`,
)

/** Keeps a key, unless another process was first with this version. */
export const insertHsmKey = async (connection: Connection, key: HsmKeyRow): Promise<void> => {
  await connection.query(insertStatement, [
    key.keyName,
    key.keyVersion,
    key.state,
    key.keyBlock,
    key.keyCheckValue,
  ])
}
