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

/** A rotation that has begun. */
interface Rotation {
  readonly key: string
  readonly version: number
  /** When new things begin to be made under it. */
  readonly activatesAt: string | null
}

/**
 * Rotates one of the installation's keys to its pending version, or to one generated now: both acts
 * in one transaction. Every process comes to know the version before any makes something under it;
 * what is under older versions is then re-encrypted.
 * @throws `Problem` `not_found`; `key_in_use` while an earlier rotation is under way.
 */
export async function rotateKey(
  keys: KeyContext,
  operator: Requester,
  keyName: string,
  request: RepeatableRequest | null,
): Promise<Answer<Rotation>> {
  if (!catalogue.isInstallationKey(keyName)) throw new Problem('not_found')
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
        // There was a pending version to rotate to, which another operator has taken away since.
        const detail = `Another operator has changed ${keyName}. List the keys and retry.`
        if (!generated) throw new Problem('key_in_use', { detail })
        const added = await addKey(keys, connection, target, generated.unlessRotated())
        if (added.version === null) throw new Error('A key of the installation has no version.')
        version = added.version
        await record({ act: 'generated', key: composeReference(keyName, version), ...operator })
      }
      const pendingSeconds = keys.timings.pendingMs / 1_000
      // Whoever asks again for what is scheduled already changes nothing.
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

/** Two active versions: what is under the older one is being re-encrypted, or is about to be. */
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
  throw new Problem('key_in_use', { detail: `The rotation to ${reference} is under way.` })
}

/** Learns of the keys that other processes made, and makes those active that are due. */
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
 * Brings every rotation as far as it can come now: goes on with the re-encryptions that are no
 * other process's, and retires versions that have outlived what was under them. Components that
 * were brought for a key whose others never came are forgotten. Any number of processes may do so.
 */
export async function advanceKeys(
  keys: KeyContext,
  isStopped: () => boolean = () => false,
): Promise<void> {
  await expireComponents(keys)
  const rows = await storedHsmKeys.listHsmKeys(keys.database)
  // One key whose rotation is stuck delays no other.
  const faults: unknown[] = []
  for (const keyName of catalogue.keyNames) {
    const versions = rows.filter((row) => row.keyName === keyName)
    await advanceKey(keys, keyName, versions, isStopped).catch((fault) => faults.push(fault))
  }
  if (faults.length > 0) throw faults[0]
}

/** Fingerprints forgotten in one statement. */
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
  // Those of a retired version: by now no process writes or looks for them.
  for (const { keyVersion } of versions.filter(({ state }) => state === 'retired')) {
    const deleteSome = () =>
      deleteRetiredFingerprints(database, keyVersion, settleSeconds, forgetSize)
    while (!isStopped() && (await deleteSome()) > 0);
  }
}
