import { Problem } from '../errors.ts'
import type { KeyForm } from '../hsm/key-administration.ts'
import {
  type ComponentEntryRow,
  deleteComponentEntry,
  forgetLateEntries,
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
  keptReferenceOf,
  purposeOf,
  refuseOtherCipher,
  storeKey,
} from './keep-key.ts'
import { type KeyManagement, type Operator, zoneReferenceOf } from './key-management.ts'
import { onRecord } from './on-record.ts'

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
  return onRecord(keys, async (connection, record) => {
    const newEntry = {
      target: JSON.stringify(target),
      ...form,
      componentCount,
      keyCheckValue,
      openedBy: operator.clientId,
    }
    const entry = await insertComponentEntry(connection, newEntry, entrySeconds)
    const act = `component entry ${entry.entryId} opened`
    await record({ act, key: nameOf(target), ...operator })
    return progressOf(entry, [], null)
  })
}

/** Forgets the components of keys whose others never came. */
export const forgetLateComponents = (keys: KeyManagement): Promise<void> =>
  onRecord(keys, async (connection, record) => {
    for (const { entryId, target } of await forgetLateEntries(connection)) {
      await record({ act: `component entry ${entryId} expired`, key: nameOf(readTarget(target)) })
    }
  })

const readTarget = (text: string): KeyTarget => JSON.parse(text) as KeyTarget

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
  const outcome = await onRecord(keys, async (connection, record) => {
    await holdKeys(keys, connection)
    const entry = await holdComponentEntry(connection, entryId)
    if (!entry) throw new Problem('not_found')
    const entered = await addComponent(keys, connection, operator, entry, component)
    const act = `component entered by ${component.person}`
    await record({ act, key: entryId, ...operator })
    if (entered.length < entry.componentCount) return { progress: progressOf(entry, entered, null) }
    await deleteComponentEntry(connection, entryId)
    const combined = await combine(keys, connection, entry, entered)
    await record({ ...toldOf(entry, combined), ...operator })
    return combined
  })
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

type Combined = { readonly progress: EntryProgress } | { readonly refusal: Problem }

/** What came of an entry, as it is put on record. */
function toldOf({ entryId, target: text }: ComponentEntryRow, combined: Combined) {
  const target = readTarget(text)
  if ('refusal' in combined || !combined.progress.key) {
    return { act: `components of entry ${entryId} refused`, key: nameOf(target) }
  }
  const key = keptReferenceOf(target, combined.progress.key)
  return { act: `combined from the components of entry ${entryId}`, key }
}

/** How a key is told before it is there. */
const nameOf = (target: KeyTarget): string =>
  zoneReferenceOf(target.key, target.family === 'zone' ? target.clientId : null)

/** A refusal is answered after the transaction, so that the components are forgotten all the same. */
async function combine(
  keys: KeyManagement,
  connection: Connection,
  entry: ComponentEntryRow,
  entered: readonly KeyComponentRow[],
): Promise<Combined> {
  const target = readTarget(entry.target)
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
