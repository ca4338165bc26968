import type { Requester } from '../../domain/client.ts'
import { Problem } from '../../domain/problem.ts'
import { codesByCipher } from '../../hsm/contract/catalogue.ts'
import {
  type ComponentEntryRow,
  type EntryPosition,
  expireComponentEntries,
  findComponentEntry,
  firstEntry,
  insertComponentEntry,
  type KeyComponentRow,
  listComponentEntries,
  listKeyComponents,
} from '../../storage/keys/components.ts'
import type { Answer, RepeatableRequest } from '../idempotency/idempotency.ts'
import { type Custodian, loadCustodians } from './custodians.ts'
import { changeKeys, changeKeysOnce, type KeyContext } from './keys.ts'
import * as keyTargets from './store-key.ts'

export type { EntryPosition }

/** The time within which all custodians must enter their components. */
const entrySeconds = 4 * 3_600

/** A key to be entered in components. */
interface NewEntry {
  readonly target: keyTargets.KeyTarget
  readonly form: keyTargets.KeyForm
  readonly componentCount: number
  /** Of the combined key. */
  readonly keyCheckValue: string
}

/**
 * An entered component: its custodian, and everyone who could act as that person, without the
 * component itself.
 */
interface EnteredComponent extends Custodian {
  readonly componentNumber: number
  readonly person: string
}

/** The progress of an entry. */
export interface EntryProgress {
  readonly entryId: string
  readonly family: keyTargets.KeyTarget['family']
  /** The purpose of the combined key. */
  readonly target: string
  readonly openedBy: string
  readonly entered: readonly EnteredComponent[]
  readonly componentCount: number
  readonly expiresAt: string
  /** The key, once every component is entered. */
  readonly key: keyTargets.AddedKey | null
}

/**
 * Opens the entry of a key in components (PCI PIN Security 3.1, requirements 12 and 15).
 * @throws `Problem` `key_refused` for an impossible key, before the first component is entered.
 */
export async function openEntry(
  keys: KeyContext,
  operator: Requester,
  { componentCount, form, keyCheckValue, target }: NewEntry,
  request: RepeatableRequest | null,
): Promise<Answer<EntryProgress>> {
  await keys.hsm.refuseOtherForm(keyTargets.toKeyPurpose(target), form)
  keyTargets.refuseOtherCipher(target, codesByCipher[form.algorithm])
  return changeKeysOnce(keys, request, async ({ connection, record }) => {
    const newEntry = {
      target: JSON.stringify(target),
      ...form,
      componentCount,
      keyCheckValue,
      openedBy: operator.clientId,
    }
    const entry = await insertComponentEntry(connection, newEntry, entrySeconds)
    const act = `component entry ${entry.entryId} opened`
    await record({ act, key: keyTargets.targetReference(target), ...operator })
    return describeProgress(entry, [], await loadCustodians(connection, []))
  })
}

/** Deletes the components of incomplete entries that have expired. */
export const expireComponents = (keys: KeyContext): Promise<void> =>
  changeKeys(keys, async ({ connection, record }) => {
    for (const { entryId, target } of await expireComponentEntries(connection)) {
      const act = `component entry ${entryId} expired`
      await record({ act, key: keyTargets.targetReference(entryTarget({ target })) })
    }
  })

/** The detail of a 404. */
export const noEntry =
  'No open entry has this id: it was completed, refused or has expired. Open another one.'

/**
 * Returns an open entry.
 * @throws `Problem` `not_found`.
 */
export async function findEntry({ database }: KeyContext, entryId: string): Promise<EntryProgress> {
  const entry = await findComponentEntry(database, entryId)
  if (!entry) throw new Problem('not_found', { detail: noEntry })
  const components = await listKeyComponents(database, [entryId])
  return describeProgress(
    entry,
    components,
    await loadCustodians(database, listClientIds(components)),
  )
}

/** An entry with its position in the list. */
interface ListedEntry extends EntryProgress {
  readonly position: EntryPosition
}

/** Lists the open entries, the next to expire first. */
export async function listEntries(
  { database }: KeyContext,
  after: EntryPosition | null,
  limit: number,
): Promise<readonly ListedEntry[]> {
  const entries = await listComponentEntries(database, after ?? firstEntry, limit)
  const entryIds = entries.map(({ entryId }) => entryId)
  const components = await listKeyComponents(database, entryIds)
  const findCustodian = await loadCustodians(database, listClientIds(components))
  return entries.map((entry) => {
    const own = components.filter(({ entryId }) => entryId === entry.entryId)
    const position = { at: entry.expiresAtExactly, entryId: entry.entryId }
    return { ...describeProgress(entry, own, findCustodian), position }
  })
}

export const listClientIds = (components: readonly KeyComponentRow[]): string[] =>
  components.map(({ clientId }) => clientId)

/** Returns the target of an entry's key. */
export const entryTarget = ({ target }: Pick<ComponentEntryRow, 'target'>): keyTargets.KeyTarget =>
  JSON.parse(target) as keyTargets.KeyTarget

/**
 * Describes the progress of an entry.
 * @param key the complete key, once every component is entered.
 */
export function describeProgress(
  entry: ComponentEntryRow,
  components: readonly KeyComponentRow[],
  findCustodian: (clientId: string) => Custodian,
  key: keyTargets.AddedKey | null = null,
): EntryProgress {
  const target = entryTarget(entry)
  return {
    entryId: entry.entryId,
    family: target.family,
    target: keyTargets.targetReference(target),
    openedBy: entry.openedBy,
    entered: components.map(({ clientId, componentNumber, controlledBy, person }) => ({
      componentNumber,
      person,
      ...findCustodian(clientId),
      controlledBy,
    })),
    componentCount: entry.componentCount,
    expiresAt: entry.expiresAt.toISOString(),
    key,
  }
}
