import type { Requester } from '../../domain/client.ts'
import { Problem } from '../../domain/problem.ts'
import * as catalogue from '../../hsm/contract/catalogue.ts'
import { deleteRetiredFingerprints } from '../../storage/cards/keys-of-cards.ts'
import type { Connection } from '../../storage/engine/database.ts'
import * as storedHsmKeys from '../../storage/keys/hsm-keys.ts'
import { claimReEncryption, startReEncryption } from '../../storage/keys/re-encryption.ts'
import { type Answer, type RepeatableRequest, recall } from '../idempotency/idempotency.ts'
import { expireComponents } from './component-entries.ts'
import { changeKeys, changeKeysOnce, composeReference, type KeyContext } from './keys.ts'
import { destroyUnstored, generateUnstored } from './make-key.ts'
import { reEncryptStep } from './re-encryption.ts'
import { addKey, lockKeys } from './store-key.ts'

/** A begun rotation. */
interface Rotation {
  readonly key: string
  readonly version: number
  /** The time from which new data is protected with the version. */
  readonly activatesAt: string | null
}

/**
 * Rotates a key of the installation to its pending version, or to one generated now; both acts are
 * in one transaction. Every process knows the version before any process uses it; the data under
 * older versions is then re-encrypted.
 * @throws `Problem` `not_found`; `key_in_use` during an earlier rotation.
 */
export async function rotateKey(
  keys: KeyContext,
  operator: Requester,
  keyName: string,
  request: RepeatableRequest | null,
): Promise<Answer<Rotation>> {
  if (!catalogue.isInstallationKey(keyName)) {
    throw new Problem('not_found', {
      detail: 'No key of the installation has this name. List the keys.',
    })
  }
  const known = await recall<Rotation>(keys, request)
  if (known) return known
  const target = { family: 'installation', key: keyName } as const
  return destroyUnstored(keys, async (note) => {
    const isPending = (await findPendingVersion(keys.database, keyName)) !== null
    const newKey = { target, form: null, exportable: false }
    const generated = isPending ? null : await generateUnstored(keys, newKey)
    if (generated) note(generated.key)
    return changeKeysOnce(keys, request, async ({ connection, record }) => {
      await lockKeys(keys, connection)
      await refuseWhileUnderWay(connection, keyName)
      let version = await findPendingVersion(connection, keyName)
      if (version === null) {
        // Another operator has deleted the pending version meanwhile.
        const detail = `Another operator has changed ${keyName}. List the keys and retry.`
        if (!generated) throw new Problem('key_in_use', { detail })
        const added = await addKey(keys, connection, target, generated.unlessRotated())
        if (added.version === null) throw new Error('A key of the installation has no version.')
        version = added.version
        await record({ act: 'generated', key: composeReference(keyName, version), ...operator })
      }
      const pendingSeconds = keys.timings.pendingMs / 1_000
      // A repeated request for a scheduled rotation changes nothing.
      if (await storedHsmKeys.scheduleHsmKey(connection, keyName, version, pendingSeconds)) {
        await record({
          act: 'rotation begun',
          key: composeReference(keyName, version),
          ...operator,
        })
      }
      const row = await storedHsmKeys.findHsmKey(connection, keyName, version)
      return { key: keyName, version, activatesAt: row?.activatesAt?.toISOString() ?? null }
    })
  })
}

async function findPendingVersion(connection: Connection, keyName: string): Promise<number | null> {
  const rows = await storedHsmKeys.listHsmKeys(connection)
  const pending = rows.find((row) => row.keyName === keyName && row.state === 'pending')
  return pending?.keyVersion ?? null
}

/** Two active versions: the re-encryption of the older one's data is running or about to start. */
async function refuseWhileUnderWay(
  connection: Connection,
  keyName: catalogue.KeyName,
): Promise<void> {
  if (catalogue.keyCatalogue[keyName].retirement.by !== 're-encryption') return
  const rows = await storedHsmKeys.listHsmKeys(connection)
  const active = rows.filter((row) => row.keyName === keyName && row.state === 'active')
  const newest = active.at(-1)
  if (!newest || active.length === 1) return
  const reference = composeReference(keyName, newest.keyVersion)
  const detail = `The rotation to ${reference} is under way. List the keys; retry when it is done.`
  throw new Problem('key_in_use', { detail })
}

/** Reads the keys of other processes, and activates those that are due. */
export async function followKeys(keys: KeyContext): Promise<void> {
  await keys.hsm.refreshKeys()
  if (!(await storedHsmKeys.hasDueHsmKeys(keys.database))) return
  const activated = await changeKeys(keys, async ({ connection, record }) => {
    const due = await storedHsmKeys.activateDueHsmKeys(connection)
    for (const { keyName, keyVersion } of due) {
      await record({ act: 'activated', key: composeReference(keyName, keyVersion) })
    }
    return due
  })
  if (activated.length > 0) await keys.hsm.refreshKeys()
}

/**
 * Advances every rotation as far as possible: continues re-encryptions that no other process holds,
 * and retires versions that no longer protect data. Deletes the components of expired entries. Any
 * number of processes may do so.
 */
export async function advanceKeys(
  keys: KeyContext,
  isStopped: () => boolean = () => false,
): Promise<void> {
  await expireComponents(keys)
  const rows = await storedHsmKeys.listHsmKeys(keys.database)
  // A rotation that fails does not delay the other keys.
  const faults: unknown[] = []
  for (const keyName of catalogue.keyNames) {
    const versions = rows.filter((row) => row.keyName === keyName)
    await advanceKey(keys, keyName, versions, isStopped).catch((fault) => faults.push(fault))
  }
  if (faults.length > 0) throw faults[0]
}

/** The number of fingerprints that one statement deletes. */
const forgetSize = 200

async function advanceKey(
  keys: KeyContext,
  keyName: catalogue.KeyName,
  versions: readonly storedHsmKeys.DatedHsmKeyRow[],
  isStopped: () => boolean,
): Promise<void> {
  const { database, processId } = keys
  const settleSeconds = keys.timings.settleMs / 1_000
  const active = versions.filter(({ state }) => state === 'active')
  const newest = active.at(-1)?.keyVersion
  const { retirement } = catalogue.keyCatalogue[keyName]
  const isRotating = newest !== undefined && active.length > 1
  if (isRotating && retirement.by === 'time') {
    await changeKeys(keys, async ({ connection, record }) => {
      const seconds = retirement.seconds + settleSeconds
      for (const each of await storedHsmKeys.retireOutlivedHsmKeys(
        connection,
        keyName,
        newest,
        seconds,
      )) {
        await record({ act: 'retired', key: composeReference(each.keyName, each.keyVersion) })
      }
    })
  }
  if (isRotating && retirement.by === 're-encryption') {
    await startReEncryption(database, keyName, newest)
    let reEncryption = await claimReEncryption(database, keyName, newest, processId)
    while (reEncryption && !isStopped()) reEncryption = await reEncryptStep(keys, reEncryption)
  }
  if (keyName !== 'pan-fingerprint') return
  // Deletes the fingerprints of retired versions, which no process uses any more.
  for (const { keyVersion } of versions.filter(({ state }) => state === 'retired')) {
    const deleteSome = () =>
      deleteRetiredFingerprints(database, keyVersion, settleSeconds, forgetSize)
    while (!isStopped() && (await deleteSome()) > 0);
  }
}
