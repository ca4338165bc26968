import { type Connection, firstRow, statement } from '../engine/database.ts'

/** A key that several people bring, each a component. */
interface NewComponentEntry {
  /** What the combined key is to become, as JSON. */
  readonly target: string
  readonly algorithm: 'TDES' | 'AES'
  readonly lengthBytes: number
  readonly componentCount: number
  /** Of the combined key, as its sender gave it. */
  readonly keyCheckValue: string
  readonly openedBy: string
}

export interface ComponentEntryRow extends NewComponentEntry {
  readonly entryId: string
  readonly expiresAt: Date
}

const columns = `entry_id as "entryId", target, algorithm, length_bytes as "lengthBytes",
  component_count as "componentCount", key_check_value as "keyCheckValue",
  opened_by as "openedBy", expires_at as "expiresAt"`

const insertStatement = statement(
  'insert_component_entry',
  `insert into component_entry (target, algorithm, length_bytes, component_count, key_check_value,
     opened_by, expires_at)
   values ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))
   returning ${columns}`,
)

/** Opens an entry for so many seconds. */
export const insertComponentEntry = async (
  connection: Connection,
  entry: NewComponentEntry,
  seconds: number,
): Promise<ComponentEntryRow> => {
  const { algorithm, componentCount, keyCheckValue, lengthBytes, openedBy, target } = entry
  const values = [target, algorithm, lengthBytes, componentCount, keyCheckValue, openedBy, seconds]
  const row = firstRow<ComponentEntryRow>(await connection.query(insertStatement, values))
  if (!row) throw new Error('The database did not keep a component entry.')
  return row
}

const lockStatement = statement(
  'lock_component_entry',
  `select ${columns} from component_entry where entry_id = $1 and expires_at > now() for update`,
)

/** An open entry, locked until the transaction ends, or null. */
export const lockComponentEntry = async (
  connection: Connection,
  entryId: string,
): Promise<ComponentEntryRow | null> => firstRow(await connection.query(lockStatement, [entryId]))

const findStatement = statement(
  'find_component_entry',
  `select ${columns} from component_entry where entry_id = $1 and expires_at > now()`,
)

/** An open entry, or null. */
export const findComponentEntry = async (
  connection: Connection,
  entryId: string,
): Promise<ComponentEntryRow | null> => firstRow(await connection.query(findStatement, [entryId]))

/** Where a page of entries ends: the next to expire first. */
export interface EntryPosition {
  readonly at: string
  readonly entryId: string
}

/** Before all entries. */
export const firstEntry: EntryPosition = {
  at: '-infinity',
  entryId: '00000000-0000-0000-0000-000000000000',
}

// The position keeps the microseconds that a JavaScript date would lose.
const listStatement = statement(
  'list_component_entries',
  `select ${columns}, to_char(expires_at at time zone 'UTC',
     'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "expiresAtExactly"
   from component_entry
   where expires_at > now() and (expires_at, entry_id) > ($1::timestamptz, $2::uuid)
   order by expires_at, entry_id limit $3`,
)

/** Open entries. */
export const listComponentEntries = (
  connection: Connection,
  after: EntryPosition,
  limit: number,
): Promise<(ComponentEntryRow & { readonly expiresAtExactly: string })[]> =>
  connection.query(listStatement, [after.at, after.entryId, limit])

const deleteStatement = statement(
  'delete_component_entry',
  'delete from component_entry where entry_id = $1',
)

/** Forgets an entry with its components. */
export const deleteComponentEntry = async (
  connection: Connection,
  entryId: string,
): Promise<void> => {
  await connection.query(deleteStatement, [entryId])
}

const forgetStatement = statement(
  'forget_component_entries',
  'delete from component_entry where expires_at <= now() returning entry_id as "entryId", target',
)

/** Forgets every entry that is too late, with its components. @returns which. */
export const forgetLateEntries = (
  connection: Connection,
): Promise<Pick<ComponentEntryRow, 'entryId' | 'target'>[]> => connection.query(forgetStatement)

/** One component, enciphered under the master key or in the token. */
export interface KeyComponentRow {
  readonly componentNumber: number
  readonly person: string
  readonly clientId: string
  /** Everybody who could have acted for that client when the component came. */
  readonly controlledBy: readonly string[]
  readonly keyBlock: string
  readonly keyCheckValue: string
}

const insertComponentStatement = statement(
  'insert_key_component',
  `insert into key_component (entry_id, component_number, person, client_id, controlled_by, key_block,
     key_check_value)
   values ($1, $2, $3, $4, $5, $6, $7)`,
)

/** Keeps a component of an entry that is locked. */
export const insertKeyComponent = async (
  connection: Connection,
  entryId: string,
  component: KeyComponentRow,
): Promise<void> => {
  const { clientId, componentNumber, controlledBy, keyBlock, keyCheckValue, person } = component
  await connection.query(insertComponentStatement, [
    ...[entryId, componentNumber, person, clientId],
    ...[controlledBy, keyBlock, keyCheckValue],
  ])
}

const listComponentsStatement = statement(
  'list_key_components',
  `select entry_id as "entryId", component_number as "componentNumber", person, client_id as "clientId",
     controlled_by as "controlledBy", key_block as "keyBlock", key_check_value as "keyCheckValue"
   from key_component where entry_id = any ($1::uuid[]) order by entry_id, component_number`,
)

/** The components of entries so far. */
export const listKeyComponents = (
  connection: Connection,
  entryIds: readonly string[],
): Promise<(KeyComponentRow & { readonly entryId: string })[]> =>
  connection.query(listComponentsStatement, [entryIds])

const kindStatement = statement('find_installation_kind', 'select kind from installation')

/** Whether this is a sandbox. */
export const isSandboxInstallation = async (connection: Connection): Promise<boolean> =>
  firstRow(await connection.query<{ kind: string }>(kindStatement))?.kind === 'sandbox'
