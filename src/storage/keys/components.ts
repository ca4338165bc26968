import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** A key that several people enter in components. */
interface NewComponentEntry {
  /** The purpose of the combined key, as JSON. */
  readonly target: string
  readonly algorithm: 'TDES' | 'AES'
  readonly lengthBytes: number
  readonly componentCount: number
  /** The check value of the combined key from its sender. */
  readonly keyCheckValue: string
  readonly openedBy: string
}

export interface ComponentEntryRow extends NewComponentEntry {
  readonly entryId: string
  readonly expiresAt: Date
}

const declare = loadStatements(import.meta.url)

const insertEntry = declare<NewComponentEntry & { seconds: number }, ComponentEntryRow>(
  'insert_component_entry',
)

/** Opens an entry for a number of seconds. */
export const insertComponentEntry = async (
  connection: Connection,
  entry: NewComponentEntry,
  seconds: number,
): Promise<ComponentEntryRow> => {
  const row = firstRow(await insertEntry(connection, { ...entry, seconds }))
  if (!row) throw new Error('The database did not keep a component entry.')
  return row
}

const lockEntry = declare<{ entryId: string }, ComponentEntryRow>('lock_component_entry')

/** Returns an open entry, locked until the transaction ends, or null. */
export const lockComponentEntry = async (
  connection: Connection,
  entryId: string,
): Promise<ComponentEntryRow | null> => firstRow(await lockEntry(connection, { entryId }))

const selectEntry = declare<{ entryId: string }, ComponentEntryRow>('find_component_entry')

/** Returns an open entry, or null. */
export const findComponentEntry = async (
  connection: Connection,
  entryId: string,
): Promise<ComponentEntryRow | null> => firstRow(await selectEntry(connection, { entryId }))

/** The end of a page of entries: the next to expire first. */
export interface EntryPosition {
  readonly at: string
  readonly entryId: string
}

/** The position before all entries. */
export const firstEntry: EntryPosition = {
  at: '-infinity',
  entryId: '00000000-0000-0000-0000-000000000000',
}

type ListedEntryRow = ComponentEntryRow & { readonly expiresAtExactly: string }

const selectEntries = declare<{ at: string; entryId: string; limit: number }, ListedEntryRow>(
  'list_component_entries',
)

/** Lists open entries. */
export const listComponentEntries = (
  connection: Connection,
  after: EntryPosition,
  limit: number,
): Promise<ListedEntryRow[]> => selectEntries(connection, { ...after, limit })

const deleteEntry = declare<{ entryId: string }>('delete_component_entry')

/** Deletes an entry with its components. */
export const deleteComponentEntry = async (
  connection: Connection,
  entryId: string,
): Promise<void> => {
  await deleteEntry(connection, { entryId })
}

type LateEntry = Pick<ComponentEntryRow, 'entryId' | 'target'>

const deleteLateEntries = declare<object, LateEntry>('forget_component_entries')

/**
 * Deletes every expired entry with its components.
 * @returns the entries.
 */
export const expireComponentEntries = (connection: Connection): Promise<LateEntry[]> =>
  deleteLateEntries(connection, {})

/** One component, enciphered under the master key or in the token. */
export interface KeyComponentRow {
  readonly componentNumber: number
  readonly person: string
  readonly clientId: string
  /** Everyone who could act as that client when the component was entered. */
  readonly controlledBy: readonly string[]
  readonly keyBlock: string
  readonly keyCheckValue: string
}

type EntryComponentRow = KeyComponentRow & { readonly entryId: string }

const insertComponent = declare<EntryComponentRow>('insert_key_component')

/** Stores a component of a locked entry. */
export const insertKeyComponent = async (
  connection: Connection,
  entryId: string,
  component: KeyComponentRow,
): Promise<void> => {
  await insertComponent(connection, { ...component, entryId })
}

const selectComponents = declare<{ entryIds: readonly string[] }, EntryComponentRow>(
  'list_key_components',
)

/** Lists the components of entries so far. */
export const listKeyComponents = (
  connection: Connection,
  entryIds: readonly string[],
): Promise<EntryComponentRow[]> => selectComponents(connection, { entryIds })

const selectKind = declare<object, { kind: string }>('find_installation_kind')

/** Whether this is a sandbox. */
export const isSandboxInstallation = async (connection: Connection): Promise<boolean> =>
  firstRow(await selectKind(connection, {}))?.kind === 'sandbox'
