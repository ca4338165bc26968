import type { Requester } from '../../domain/client.ts'
import { Problem } from '../../domain/problem.ts'
import type { Connection } from '../../storage/engine/database.ts'
import * as storedComponents from '../../storage/keys/components.ts'
import {
  describeProgress,
  type EntryProgress,
  entryTarget,
  listClientIds,
  noEntry,
} from './component-entries.ts'
import { findDependence, loadCustodians } from './custodians.ts'
import { changeKeys, type KeyChange, type KeyContext } from './keys.ts'
import { destroyUnstored, type NoteKey } from './make-key.ts'
import * as keyTargets from './store-key.ts'

/** A component from one custodian. */
interface NewComponent {
  readonly person: string
  /** Hexadecimal. */
  readonly component: string
  readonly keyCheckValue: string
}

/** A refusal, which is recorded, and thrown after the commit. */
interface Refused {
  readonly refusal: Problem
}

/**
 * Enters a component. The last one completes the key, which is compared with its check value; a key
 * that fails is deleted with all its components.
 * @throws `Problem` `not_found`; `key_refused`, also for a custodian who is not independent of a
 *   previous one.
 */
export async function enterComponent(
  keys: KeyContext,
  operator: Requester,
  entryId: string,
  component: NewComponent,
): Promise<EntryProgress> {
  const outcome = await destroyUnstored(keys, (note) =>
    changeKeys(keys, async (change): Promise<Refused | { readonly progress: EntryProgress }> => {
      const { connection, record } = change
      // The lock prevents concurrent changes of credentials.
      await keyTargets.lockKeys(keys, connection)
      const entry = await storedComponents.lockComponentEntry(connection, entryId)
      if (!entry) throw new Problem('not_found', { detail: noEntry })
      const entered = await addComponent(keys, change, operator, { ...component, entry })
      if ('refusal' in entered) return entered
      const { components } = entered
      const findCustodian = await loadCustodians(connection, listClientIds(components))
      if (components.length < entry.componentCount) {
        return { progress: describeProgress(entry, components, findCustodian) }
      }
      await storedComponents.deleteComponentEntry(connection, entryId)
      const target = entryTarget(entry)
      const key = await combine(keys, connection, entry, { components, note })
      if ('refusal' in key) {
        const act = `components of entry ${entryId} refused`
        await record({ act, key: keyTargets.targetReference(target), ...operator })
        return key
      }
      const act = `combined from the components of entry ${entryId}`
      await record({ act, key: keyTargets.addedKeyReference(target, key), ...operator })
      return { progress: describeProgress(entry, components, findCustodian, key) }
    }),
  )
  if ('refusal' in outcome) throw outcome.refusal
  return outcome.progress
}

/**
 * @throws `Problem` `key_refused` for a component that does not match its stated length or check
 *   value.
 */
async function addComponent(
  { hsm }: KeyContext,
  { connection, record }: KeyChange,
  operator: Requester,
  {
    component,
    entry,
    keyCheckValue,
    person,
  }: NewComponent & { readonly entry: storedComponents.ComponentEntryRow },
): Promise<Refused | { readonly components: readonly storedComponents.KeyComponentRow[] }> {
  const { algorithm, entryId, lengthBytes } = entry
  const { clientId } = operator
  const components = await storedComponents.listKeyComponents(connection, [entryId])
  const name = person.trim().toLowerCase()
  const detail = await findDependence(connection, { person: name, clientId }, components)
  if (detail !== null) {
    await record({ act: `component of ${person} refused: ${detail}`, key: entryId, ...operator })
    return { refusal: new Problem('key_refused', { detail }) }
  }
  const form = { algorithm, lengthBytes }
  const kept = await hsm.custody.importComponent(form, component, keyCheckValue)
  const findCustodian = await loadCustodians(connection, [clientId])
  const { confirmedBy, controlledBy, createdBy } = findCustodian(clientId)
  const componentNumber = components.length + 1
  const row = { componentNumber, person: name, clientId, controlledBy, ...kept }
  await storedComponents.insertKeyComponent(connection, entryId, row)
  const origin = [
    ...(createdBy === null ? [] : [`created by ${createdBy}`]),
    ...(confirmedBy.length === 0 ? [] : [`confirmed by ${confirmedBy.join(', ')}`]),
  ]
  const act = [`component entered by ${person}`, ...origin].join(', ')
  await record({ act, key: entryId, ...operator })
  return { components: [...components, row] }
}

/** A refusal is thrown after the transaction, so that the components are deleted in any case. */
async function combine(
  keys: KeyContext,
  connection: Connection,
  entry: storedComponents.ComponentEntryRow,
  { components, note }: { components: readonly storedComponents.KeyComponentRow[]; note: NoteKey },
): Promise<Refused | keyTargets.AddedKey> {
  const { algorithm, keyCheckValue, lengthBytes } = entry
  const target = entryTarget(entry)
  const blocks = components.map(({ keyBlock }) => keyBlock)
  const form = { algorithm, lengthBytes }
  try {
    const key = await keys.hsm.custody.combineComponents(
      keyTargets.toKeyPurpose(target),
      form,
      blocks,
      keyCheckValue,
    )
    return await keyTargets.addKey(keys, connection, target, note(key))
  } catch (error) {
    if (error instanceof Problem && error.code === 'key_refused') return { refusal: error }
    throw error
  }
}
