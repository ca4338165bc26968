import { Problem, validationFailed } from '../errors.ts'
import type { KeptKey, KeyPurpose } from '../hsm/key-administration.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { findClient } from '../storage/clients.ts'
import type { Connection } from '../storage/database.ts'
import { insertHsmKey, listHsmKeys } from '../storage/hsm-keys.ts'
import { holdInstallation } from '../storage/installation.ts'
import { takeKeyNumber } from '../storage/key-numbers.ts'
import { insertZoneKey } from '../storage/zone-keys.ts'
import { insertZoneMasterKey } from '../storage/zone-master-keys.ts'
import { discardUnkept } from './discard-unkept.ts'
import {
  type KeyManagement,
  type Operator,
  referenceOf,
  zoneReferenceOf,
} from './key-management.ts'
import { onRecordOnce } from './on-record.ts'

/** Where a key is to be kept. */
export type KeyTarget =
  | { readonly family: 'installation'; readonly key: string }
  | { readonly family: 'zone-master'; readonly key: string }
  | {
      readonly family: 'zone'
      readonly key: string
      readonly clientId: string
      readonly pinBlockFormats: readonly string[]
    }

/** A key that was kept. */
export interface KeptVersion {
  readonly family: KeyTarget['family']
  readonly key: string
  readonly version: number | null
  readonly keyCheckValue: string
}

export const purposeOf = (target: KeyTarget): KeyPurpose =>
  target.family === 'installation'
    ? { family: 'installation', keyName: target.key }
    : { family: target.family }

/**
 * Keeps a key that is made now. The installation is held while it is made, so that no key is wrapped
 * under a master key that another process is just leaving.
 * @throws `Problem` `validation_failed` when the name is taken or the network unknown; `key_refused` when
 *   the key is not of the cipher that its PIN block formats are for.
 */
export const keepKey = (
  keys: KeyManagement,
  operator: Operator,
  { act, target }: { readonly act: string; readonly target: KeyTarget },
  request: RepeatableRequest | null,
  make: (connection: Connection) => KeptKey | Promise<KeptKey>,
): Promise<Answer<KeptVersion>> =>
  discardUnkept(keys, (made) =>
    onRecordOnce(keys, request, async (connection, record) => {
      await holdKeys(keys, connection)
      const kept = await storeKey(keys, connection, target, made(await make(connection)))
      await record({ act, key: keptReferenceOf(target, kept), ...operator })
      return kept
    }),
  )

/** How a key that was kept is told. */
export function keptReferenceOf(target: KeyTarget, { key, version }: KeptVersion): string {
  if (version !== null) return referenceOf(key, version)
  return zoneReferenceOf(key, target.family === 'zone' ? target.clientId : null)
}

/** Holds the installation, so that nobody else makes, takes or wraps a key until the transaction ends. */
export async function holdKeys(keys: KeyManagement, connection: Connection): Promise<void> {
  refuseOtherMasterKey(keys, await holdInstallation(connection))
}

/** Keeps a key where it belongs. The installation is held. @throws as {@link keepKey} does. */
export async function storeKey(
  keys: KeyManagement,
  connection: Connection,
  target: KeyTarget,
  kept: KeptKey,
): Promise<KeptVersion> {
  refuseOtherCipher(target, keys.hsm.describeKey(kept.keyBlock).algorithm)
  const version = await keepers[target.family](connection, target as never, kept)
  const { family, key } = target
  return { family, key, version, keyCheckValue: kept.keyCheckValue }
}

/** Another process may have moved on to another master key, and this one not yet followed. */
export function refuseOtherMasterKey({ hsm }: KeyManagement, checkValue: string): void {
  const { masterKeys } = hsm.custody
  if (!masterKeys || masterKeys.checkValue() === checkValue) return
  throw new Problem('unavailable', { detail: 'The master key is being rotated.' })
}

type Keeper<Family extends KeyTarget['family']> = (
  connection: Connection,
  target: Extract<KeyTarget, { family: Family }>,
  kept: KeptKey,
) => Promise<number | null>

const keepers: { readonly [Family in KeyTarget['family']]: Keeper<Family> } = {
  async installation(connection, { key }, kept) {
    const keyVersion = await nextVersion(connection, key)
    await insertHsmKey(connection, { keyName: key, keyVersion, state: 'pending', ...kept })
    return keyVersion
  },
  async 'zone-master'(connection, { key }, kept) {
    if (!(await insertZoneMasterKey(connection, { keyName: key, ...kept }))) throw nameTaken()
    return null
  },
  async zone(connection, { clientId, key, pinBlockFormats }, kept) {
    const client = await findClient(connection, clientId)
    if (client?.kind !== 'network') throw noNetwork()
    const algorithm = isForTdes(pinBlockFormats) ? 'TDES' : 'AES'
    const row = { clientId, keyName: key, algorithm, pinBlockFormats, ...kept } as const
    if (!(await insertZoneKey(connection, row))) throw nameTaken()
    return null
  },
}

/** Formats 0, 1 and 3 are for TDES keys, format 4 for AES keys (ISO 9564-1). */
export const isForTdes = (pinBlockFormats: readonly string[]): boolean =>
  !pinBlockFormats.includes('ISO_FORMAT_4')

/** @throws `Problem` `key_refused` for a zone key that its PIN block formats are not for. */
export function refuseOtherCipher(target: KeyTarget, algorithm: string): void {
  if (target.family !== 'zone') return
  if (isForTdes(target.pinBlockFormats) === (algorithm === 'T')) return
  throw new Problem('key_refused', { detail: 'These PIN block formats are for another algorithm.' })
}

const nameTaken = () => validationFailed({ pointer: '/key', detail: 'is the name of another key' })
const noNetwork = () =>
  validationFailed({ pointer: '/clientId', detail: 'must be the id of a network client' })

/** A version that is still pending is used before another one is made. */
async function nextVersion(connection: Connection, keyName: string): Promise<number> {
  const versions = (await listHsmKeys(connection)).filter((row) => row.keyName === keyName)
  const pending = versions.find(({ state }) => state === 'pending')
  if (pending) {
    const reference = referenceOf(keyName, pending.keyVersion)
    throw new Problem('key_in_use', { detail: `${reference} is pending still.` })
  }
  return takeKeyNumber(connection, keyName)
}
