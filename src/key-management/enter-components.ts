import { Problem } from '../errors.ts'
import type { KeyForm } from '../hsm/key-administration.ts'
import {
  type ComponentEntryRow,
  deleteComponentEntry,
  holdComponentEntry,
  insertComponentEntry,
  insertKeyComponent,
  isSandboxInstallation,
  type KeyComponentRow,
  listKeyComponents,
} from '../storage/component-entries.ts'
import type { Connection } from '../storage/database.ts'
import {
  holdKeys,
  type KeptVersion,
  type KeyTarget,
  purposeOf,
  refuseOtherCipher,
  storeKey,
} from './keep-key.ts'
import type { KeyManagement, Operator } from './key-management.ts'

/** How long the people who hold the components have to come. */
const entrySeconds = 4 * 3_600

/** A key that is to come in components. */
export interface NewEntry {
  readonly target: KeyTarget
  readonly form: KeyForm
  readonly componentCount: number
  /** Of the combined key. */
  readonly keyCheckValue: string
}

/** How far an entry has come. Nothing of a component but its check value. */
export interface EntryProgress {
  readonly entryId: string
  readonly entered: readonly { readonly componentNumber: number; readonly person: string }[]
  readonly componentCount: number
  readonly expiresAt: Date
  /** The key, once every component is there. */
  readonly key: KeptVersion | null
}

/**
 * Opens the entry of a key in components (PCI PIN Security 3.1, requirements 12 and 15).
 * @throws `Problem` `key_refused` for a key that there could not be, before anybody brings a part of it.
 */
export async function openEntry(
  keys: KeyManagement,
  operator: Operator,
  { componentCount, form, keyCheckValue, target }: NewEntry,
): Promise<EntryProgress> {
  await keys.hsm.refuseOtherForm(purposeOf(target), form)
  refuseOtherCipher(target, form.algorithm === 'TDES' ? 'T' : 'A')
  const entry = await insertComponentEntry(
    keys.database,
    {
      target: JSON.stringify(target),
      ...form,
      componentCount,
      keyCheckValue,
      openedBy: operator.clientId,
    },
    entrySeconds,
  )
  await keys.onAct({ act: 'component entry opened', key: target.key, ...operator })
  return progressOf(entry, [], null)
}

/** One component, brought by one person. */
export interface NewComponent {
  readonly person: string
  /** Hexadecimal. */
  readonly component: string
  readonly keyCheckValue: string
}

/**
 * Takes in a component. With the last one the key is combined and held against its check value; a key
 * that fails is forgotten with all its components.
 * @throws `Problem` `not_found`; `key_refused`, also for a person who brought one already.
 */
export async function enterComponent(
  keys: KeyManagement,
  operator: Operator,
  entryId: string,
  component: NewComponent,
): Promise<EntryProgress> {
  const outcome = await keys.database.transaction(async (connection) => {
    await holdKeys(keys, connection)
    const entry = await holdComponentEntry(connection, entryId)
    if (!entry) throw new Problem('not_found')
    const entered = await addComponent(keys, connection, operator, entry, component)
    if (entered.length < entry.componentCount) return { progress: progressOf(entry, entered, null) }
    await deleteComponentEntry(connection, entryId)
    return combine(keys, connection, entry, entered)
  })
  await keys.onAct({ act: `component entered by ${component.person}`, key: entryId, ...operator })
  if ('refusal' in outcome) throw outcome.refusal
  return outcome.progress
}

/** @throws `Problem` `key_refused` for a second component from one person. */
async function addComponent(
  keys: KeyManagement,
  connection: Connection,
  { clientId }: Operator,
  entry: ComponentEntryRow,
  { component, keyCheckValue, person }: NewComponent,
): Promise<readonly KeyComponentRow[]> {
  const entered = await listKeyComponents(connection, entry.entryId)
  const name = person.trim().toLowerCase()
  // One client may stand for several people where there is only one, in the sandbox.
  const isSandbox = await isSandboxInstallation(connection)
  const isSame = entered.some(
    (each) => each.person === name || (!isSandbox && each.clientId === clientId),
  )
  if (isSame) {
    const detail = 'Every component is brought by another person, each with a client of its own.'
    throw new Problem('key_refused', { detail })
  }
  const kept = await keys.hsm.custody.keepComponent(formOf(entry), component, keyCheckValue)
  const componentNumber = entered.length + 1
  const row = { componentNumber, person: name, clientId, ...kept }
  await insertKeyComponent(connection, entry.entryId, row)
  return [...entered, row]
}

const formOf = ({ algorithm, lengthBytes }: ComponentEntryRow): KeyForm => ({
  algorithm,
  lengthBytes,
})

/** A refusal is answered after the transaction, so that the components are forgotten all the same. */
async function combine(
  keys: KeyManagement,
  connection: Connection,
  entry: ComponentEntryRow,
  entered: readonly KeyComponentRow[],
): Promise<{ progress: EntryProgress } | { refusal: Problem }> {
  const target = JSON.parse(entry.target) as KeyTarget
  const blocks = entered.map(({ keyBlock }) => keyBlock)
  try {
    const kept = await keys.hsm.custody.combineComponents(
      purposeOf(target),
      formOf(entry),
      blocks,
      entry.keyCheckValue,
    )
    const key = await storeKey(keys, connection, target, kept)
    return { progress: progressOf(entry, entered, key) }
  } catch (error) {
    if (error instanceof Problem && error.code === 'key_refused') return { refusal: error }
    throw error
  }
}

const progressOf = (
  { componentCount, entryId, expiresAt }: ComponentEntryRow,
  entered: readonly KeyComponentRow[],
  key: KeptVersion | null,
): EntryProgress => ({
  entryId,
  entered: entered.map(({ componentNumber, person }) => ({ componentNumber, person })),
  componentCount,
  expiresAt,
  key,
})
