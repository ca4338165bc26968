import { Problem } from '../../domain/problem.ts'
import type { KeyForm } from '../../hsm/contract/key-administration.ts'
import type { Connection } from '../../storage/engine/database.ts'
import {
  type ComponentEntryRow,
  deleteComponentEntry,
  holdComponentEntry,
  insertKeyComponent,
  type KeyComponentRow,
  listKeyComponents,
} from '../../storage/keys/components.ts'
import { type EntryProgress, nameOf, progressOf, targetOf } from './component-entry.ts'
import { findCustodians, findDependence } from './custodians.ts'
import { type KeyAct, type KeyManagement, type Operator, onRecord, type RecordAct } from './keys.ts'
import {
  discardUnkept,
  holdKeys,
  type KeptVersion,
  keptReferenceOf,
  type NoteMade,
  purposeOf,
  storeKey,
} from './store-key.ts'

/** One component, brought by one person. */
interface NewComponent {
  readonly person: string
  /** Hexadecimal. */
  readonly component: string
  readonly keyCheckValue: string
}

/** What came of a component. What was refused is on record, too, and answered after the commit. */
type Outcome = { readonly progress: EntryProgress } | { readonly refusal: Problem }

/**
 * Takes in a component. With the last one the key is combined and held against its check value; a key
 * that fails is forgotten with all its components.
 * @throws `Problem` `not_found`; `key_refused`, also for somebody who is no other person than one who
 *   brought a component already.
 */
export async function enterComponent(
  keys: KeyManagement,
  operator: Operator,
  entryId: string,
  component: NewComponent,
): Promise<EntryProgress> {
  const outcome = await discardUnkept(keys, (made) =>
    onRecord(keys, async (connection, record): Promise<Outcome> => {
      // Nobody gives anybody other credentials meanwhile.
      await holdKeys(keys, connection)
      const entry = await holdComponentEntry(connection, entryId)
      if (!entry) throw new Problem('not_found')
      const entered = await addComponent(keys, connection, record, operator, entry, component)
      if ('refusal' in entered) return entered
      const { components } = entered
      const clientIds = components.map(({ clientId }) => clientId)
      const custodianOf = await findCustodians(connection, clientIds)
      if (components.length < entry.componentCount) {
        return { progress: progressOf(entry, components, custodianOf) }
      }
      await deleteComponentEntry(connection, entryId)
      const combined = await combine(keys, connection, entry, components, made)
      await record({ ...actOf(entry, combined), ...operator })
      if ('refusal' in combined) return combined
      return { progress: progressOf(entry, components, custodianOf, combined.key) }
    }),
  )
  if ('refusal' in outcome) throw outcome.refusal
  return outcome.progress
}

type Added = { readonly components: readonly KeyComponentRow[] } | { readonly refusal: Problem }

/** @throws `Problem` `key_refused` for a component that is not what its sender told. */
async function addComponent(
  keys: KeyManagement,
  connection: Connection,
  record: RecordAct,
  operator: Operator,
  entry: ComponentEntryRow,
  { component, keyCheckValue, person }: NewComponent,
): Promise<Added> {
  const { entryId } = entry
  const { clientId } = operator
  const components = await listKeyComponents(connection, [entryId])
  const name = person.trim().toLowerCase()
  const detail = await findDependence(connection, { person: name, clientId }, components)
  if (detail !== null) {
    await record({ act: `component of ${person} refused: ${detail}`, key: entryId, ...operator })
    return { refusal: new Problem('key_refused', { detail }) }
  }
  const kept = await keys.hsm.custody.importComponent(formOf(entry), component, keyCheckValue)
  const { confirmedBy, controlledBy, createdBy } = (await findCustodians(connection, [clientId]))(
    clientId,
  )
  const componentNumber = components.length + 1
  const row = { componentNumber, person: name, clientId, controlledBy, ...kept }
  await insertKeyComponent(connection, entryId, row)
  const origin = [
    ...(createdBy === null ? [] : [`created by ${createdBy}`]),
    ...(confirmedBy.length === 0 ? [] : [`confirmed by ${confirmedBy.join(', ')}`]),
  ]
  const act = [`component entered by ${person}`, ...origin].join(', ')
  await record({ act, key: entryId, ...operator })
  return { components: [...components, row] }
}

const formOf = ({ algorithm, lengthBytes }: ComponentEntryRow): KeyForm => ({
  algorithm,
  lengthBytes,
})

type Combined = { readonly key: KeptVersion } | { readonly refusal: Problem }

/** What came of an entry, as it is put on record. */
function actOf(entry: ComponentEntryRow, combined: Combined): KeyAct {
  const target = targetOf(entry)
  return 'refusal' in combined
    ? { act: `components of entry ${entry.entryId} refused`, key: nameOf(target) }
    : {
        act: `combined from the components of entry ${entry.entryId}`,
        key: keptReferenceOf(target, combined.key),
      }
}

/** A refusal is answered after the transaction, so that the components are forgotten all the same. */
async function combine(
  keys: KeyManagement,
  connection: Connection,
  entry: ComponentEntryRow,
  components: readonly KeyComponentRow[],
  made: NoteMade,
): Promise<Combined> {
  const target = targetOf(entry)
  const blocks = components.map(({ keyBlock }) => keyBlock)
  try {
    const kept = await keys.hsm.custody.combineComponents(
      purposeOf(target),
      formOf(entry),
      blocks,
      entry.keyCheckValue,
    )
    return { key: await storeKey(keys, connection, target, made(kept)) }
  } catch (error) {
    if (error instanceof Problem && error.code === 'key_refused') return { refusal: error }
    throw error
  }
}
