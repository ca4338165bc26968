import { Problem } from '../errors.ts'
import { recall } from '../idempotency/recall.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import type { Connection } from '../storage/database.ts'
import {
  type DatedHsmKeyRow,
  findHsmKey,
  listHsmKeys,
  scheduleHsmKey,
} from '../storage/hsm-keys.ts'
import { discardUnkept } from './discard-unkept.ts'
import { type DrawnKey, drawKey } from './generate-key.ts'
import { holdKeys, storeKey } from './keep-key.ts'
import { type KeyManagement, type Operator, referenceOf } from './key-management.ts'
import { onRecordOnce, type RecordAct } from './on-record.ts'
import { rotationRule } from './rotation-rules.ts'

/** A rotation that has begun. */
export interface Rotation {
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
  if (!keys.hsm.installationKeys.includes(keyName)) throw new Problem('not_found')
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
async function refuseWhileMoving(connection: Connection, keyName: string): Promise<void> {
  if (rotationRule(keyName).by !== 'pass') return
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
