import { Problem } from '../errors.ts'
import { findHsmKey, listHsmKeys, scheduleHsmKey } from '../storage/hsm-keys.ts'
import { generateKey } from './generate-key.ts'
import { type KeyManagement, type Operator, referenceOf } from './key-management.ts'
import { onRecord } from './on-record.ts'
import { rotationRule } from './rotation-rules.ts'

/** A rotation that has begun. */
export interface Rotation {
  readonly key: string
  readonly version: number
  /** When new things begin to be made under it. */
  readonly activatesAt: Date | null
}

/**
 * Rotates one of the installation's keys to its pending version, or to one drawn now. Every process
 * comes to know it before any makes something under it; what is under older versions then moves.
 * @throws `Problem` `not_found`; `key_in_use` while an earlier rotation is under way.
 */
export async function rotateKey(
  keys: KeyManagement,
  operator: Operator,
  keyName: string,
): Promise<Rotation> {
  if (!keys.hsm.installationKeys.includes(keyName)) throw new Problem('not_found')
  await refuseWhileMoving(keys, keyName)
  const version = (await pendingVersion(keys, keyName)) ?? (await draw(keys, operator, keyName))
  const activatesAt = await schedule(keys, operator, keyName, version)
  return { key: keyName, version, activatesAt }
}

/** Whoever asks again for what is scheduled already changes nothing. */
const schedule = (
  keys: KeyManagement,
  operator: Operator,
  keyName: string,
  version: number,
): Promise<Date | null> =>
  onRecord(keys, async (connection, record) => {
    const key = referenceOf(keyName, version)
    const pendingSeconds = keys.timings.pendingMs / 1_000
    if (await scheduleHsmKey(connection, keyName, version, pendingSeconds)) {
      await record({ act: 'rotation begun', key, ...operator })
    }
    const row = await findHsmKey(connection, keyName, version)
    // Another operator may have taken it away since it was found.
    if (!row) throw new Problem('key_in_use', { detail: `${key} was deleted meanwhile.` })
    return row.activatesAt
  })

/** Two active versions: what is under the older one still moves, or is about to. */
async function refuseWhileMoving({ database }: KeyManagement, keyName: string): Promise<void> {
  if (rotationRule(keyName).by !== 'pass') return
  const rows = await listHsmKeys(database)
  const active = rows.filter((row) => row.keyName === keyName && row.state === 'active')
  const newest = active.at(-1)
  if (!newest || active.length === 1) return
  const reference = referenceOf(keyName, newest.keyVersion)
  throw new Problem('key_in_use', { detail: `The rotation to ${reference} is under way.` })
}

async function pendingVersion(
  { database }: KeyManagement,
  keyName: string,
): Promise<number | undefined> {
  const rows = await listHsmKeys(database)
  return rows.find((row) => row.keyName === keyName && row.state === 'pending')?.keyVersion
}

async function draw(keys: KeyManagement, operator: Operator, keyName: string): Promise<number> {
  const target = { family: 'installation', key: keyName } as const
  const { version } = await generateKey(keys, operator, { target, form: null, exportable: false })
  if (version === null) throw new Error('A key of the installation has no version.')
  return version
}
