import { Problem } from '../../domain/problem.ts'
import {
  isInstallationKey,
  type KeyName,
  keyCatalogue,
  keyNames,
} from '../../hsm/contract/catalogue.ts'
import { forgetPanFingerprints } from '../../storage/cards/keys-of-cards.ts'
import type { Connection } from '../../storage/engine/database.ts'
import {
  activateDueHsmKeys,
  type DatedHsmKeyRow,
  findHsmKey,
  hasDueHsmKeys,
  listHsmKeys,
  retireOutlivedHsmKeys,
  scheduleHsmKey,
} from '../../storage/keys/hsm-keys.ts'
import { claimKeyPass, startKeyPass } from '../../storage/keys/re-encryption.ts'
import { type Answer, type RepeatableRequest, recall } from '../idempotency/idempotency.ts'
import { forgetLateComponents } from './component-entry.ts'
import {
  type KeyManagement,
  type Operator,
  onRecord,
  onRecordOnce,
  type RecordAct,
  referenceOf,
} from './keys.ts'
import { walkPass } from './re-encryption.ts'
import { type DrawnKey, discardUnkept, drawKey, holdKeys, storeKey } from './store-key.ts'

/** A rotation that has begun. */
interface Rotation {
  readonly key: string
  readonly version: number
  /** When new things begin to be made under it. */
  readonly activatesAt: string | null
}

/**
 * Rotates one of the installation's keys to its pending version, or to one drawn now: both acts in one
 * transaction. Every process comes to know the version before any makes something under it; what is
 * under older versions then moves.
 * @throws `Problem` `not_found`; `key_in_use` while an earlier rotation is under way.
 */
export async function rotateKey(
  keys: KeyManagement,
  operator: Operator,
  keyName: string,
  request: RepeatableRequest | null,
): Promise<Answer<Rotation>> {
  if (!isInstallationKey(keyName)) throw new Problem('not_found')
  const known = await recall<Rotation>(keys, request)
  if (known) return known
  const target = { family: 'installation', key: keyName } as const
  return discardUnkept(keys, async (made) => {
    const isPending = (await findPending(keys.database, keyName)) !== undefined
    const drawn = isPending ? null : await drawKey(keys, { target, form: null, exportable: false })
    if (drawn) made(drawn.key)
    return onRecordOnce(keys, request, async (connection, record) => {
      await holdKeys(keys, connection)
      await refuseWhileMoving(connection, keyName)
      const version =
        (await findPending(connection, keyName))?.keyVersion ??
        (await keepDrawn(keys, operator, connection, record, { keyName, drawn }))
      return schedule(keys, operator, connection, record, { keyName, version })
    })
  })
}

async function keepDrawn(
  keys: KeyManagement,
  operator: Operator,
  connection: Connection,
  record: RecordAct,
  { drawn, keyName }: { readonly drawn: DrawnKey | null; readonly keyName: string },
): Promise<number> {
  // There was a pending version to rotate to, which another operator has taken away since.
  if (!drawn) throw new Problem('key_in_use', { detail: `${keyName} was changed meanwhile.` })
  const target = { family: 'installation', key: keyName } as const
  const { version } = await storeKey(keys, connection, target, drawn.unlessRotated())
  if (version === null) throw new Error('A key of the installation has no version.')
  await record({ act: 'generated', key: referenceOf(keyName, version), ...operator })
  return version
}

/** Whoever asks again for what is scheduled already changes nothing. */
async function schedule(
  keys: KeyManagement,
  operator: Operator,
  connection: Connection,
  record: RecordAct,
  { keyName, version }: { readonly keyName: string; readonly version: number },
): Promise<Rotation> {
  const pendingSeconds = keys.timings.pendingMs / 1_000
  if (await scheduleHsmKey(connection, keyName, version, pendingSeconds)) {
    await record({ act: 'rotation begun', key: referenceOf(keyName, version), ...operator })
  }
  const row = await findHsmKey(connection, keyName, version)
  return { key: keyName, version, activatesAt: row?.activatesAt?.toISOString() ?? null }
}

/** Two active versions: what is under the older one still moves, or is about to. */
async function refuseWhileMoving(connection: Connection, keyName: KeyName): Promise<void> {
  if (keyCatalogue[keyName].retirement.by !== 're-encryption') return
  const rows = await listHsmKeys(connection)
  const active = rows.filter((row) => row.keyName === keyName && row.state === 'active')
  const newest = active.at(-1)
  if (!newest || active.length === 1) return
  const reference = referenceOf(keyName, newest.keyVersion)
  throw new Problem('key_in_use', { detail: `The rotation to ${reference} is under way.` })
}

const findPending = async (
  connection: Connection,
  keyName: string,
): Promise<DatedHsmKeyRow | undefined> =>
  (await listHsmKeys(connection)).find((row) => row.keyName === keyName && row.state === 'pending')

/** Learns of the keys that other processes made, and makes those active that are due. */
export async function followKeys(keys: KeyManagement): Promise<void> {
  await keys.hsm.refreshKeys()
  if (!(await hasDueHsmKeys(keys.database))) return
  const activated = await onRecord(keys, async (connection, record) => {
    const due = await activateDueHsmKeys(connection)
    for (const { keyName, keyVersion } of due) {
      await record({ act: 'activated', key: referenceOf(keyName, keyVersion) })
    }
    return due
  })
  if (activated.length > 0) await keys.hsm.refreshKeys()
}

/**
 * Brings every rotation as far as it can come now: walks the passes that nobody else walks, and
 * retires versions that have outlived what was under them. Components that were brought for a key whose
 * others never came are forgotten. Any number of processes may do so.
 */
export async function advanceKeys(
  keys: KeyManagement,
  isStopped: () => boolean = () => false,
): Promise<void> {
  await forgetLateComponents(keys)
  const rows = await listHsmKeys(keys.database)
  // One key whose rotation is stuck holds up no other.
  const faults: unknown[] = []
  for (const keyName of keyNames) {
    const versions = rows.filter((row) => row.keyName === keyName)
    await advanceVersions(keys, keyName, versions, isStopped).catch((fault) => faults.push(fault))
  }
  if (faults.length > 0) throw faults[0]
}

async function advanceVersions(
  keys: KeyManagement,
  keyName: KeyName,
  versions: readonly DatedHsmKeyRow[],
  isStopped: () => boolean,
): Promise<void> {
  const active = versions.filter(({ state }) => state === 'active')
  const newest = active.at(-1)
  if (newest && active.length > 1) await advanceKey(keys, keyName, newest.keyVersion, isStopped)
  if (keyName === 'pan-fingerprint') await forgetRetired(keys, versions, isStopped)
}

async function advanceKey(
  keys: KeyManagement,
  keyName: KeyName,
  keyVersion: number,
  isStopped: () => boolean,
): Promise<void> {
  const { retirement } = keyCatalogue[keyName]
  if (retirement.by === 'time') {
    const seconds = retirement.seconds + keys.timings.settleMs / 1_000
    await onRecord(keys, async (connection, record) => {
      const retired = await retireOutlivedHsmKeys(connection, keyName, keyVersion, seconds)
      for (const each of retired) {
        await record({ act: 'retired', key: referenceOf(each.keyName, each.keyVersion) })
      }
    })
  }
  if (retirement.by !== 're-encryption') return
  await startKeyPass(keys.database, keyName, keyVersion)
  let pass = await claimKeyPass(keys.database, keyName, keyVersion, keys.processId)
  while (pass && !isStopped()) pass = await walkPass(keys, pass)
}

const forgetSize = 200

/** Fingerprints of a retired version: by now no process writes or looks for them. */
async function forgetRetired(
  { database, timings }: KeyManagement,
  versions: readonly DatedHsmKeyRow[],
  isStopped: () => boolean,
): Promise<void> {
  const settleSeconds = timings.settleMs / 1_000
  for (const { keyVersion, state } of versions) {
    if (state !== 'retired') continue
    const forget = () => forgetPanFingerprints(database, keyVersion, settleSeconds, forgetSize)
    while (!isStopped() && (await forget()) > 0);
  }
}
