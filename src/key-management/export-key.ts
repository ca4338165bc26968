import { Problem } from '../errors.ts'
import { findHsmKey, listHsmKeys } from '../storage/hsm-keys.ts'
import { findZoneKey } from '../storage/zone-keys.ts'
import { zoneMasterKeyBlock } from './import-key.ts'
import {
  type KeyManagement,
  type Operator,
  referenceOf,
  zoneReferenceOf,
} from './key-management.ts'
import { onRecord } from './on-record.ts'

/** A key to send elsewhere. */
export interface LeavingKey {
  readonly key: string
  /** Of one of the installation's own; the newest active one unless given. */
  readonly version: number | null
  /** The network client of a zone key. */
  readonly clientId: string | null
  readonly zoneMasterKey: string
}

/** A key block for another installation. */
export interface ExportedKey {
  readonly key: string
  readonly keyBlock: string
  readonly keyCheckValue: string
}

/**
 * Wraps an exportable key under a zone master key, as a key block and in no other form.
 * @throws `Problem` `not_found`; `key_refused` unless it may leave under this key.
 */
export async function exportKey(
  keys: KeyManagement,
  operator: Operator,
  leaving: LeavingKey,
): Promise<ExportedKey> {
  const { custody } = keys.hsm
  const kept = await findKept(keys, leaving)
  if (!kept) throw new Problem('not_found')
  const zoneMasterKey = await zoneMasterKeyBlock(keys.database, leaving.zoneMasterKey)
  const keyBlock = await custody.exportKeyBlock(kept.keyBlock, zoneMasterKey)
  // On record before it leaves.
  await onRecord(keys, (_, record) =>
    record({
      act: `exported under ${leaving.zoneMasterKey}`,
      key: leavingReferenceOf(leaving, kept),
      ...operator,
    }),
  )
  return { key: leaving.key, keyBlock, keyCheckValue: kept.keyCheckValue }
}

const leavingReferenceOf = ({ clientId, key }: LeavingKey, kept: object): string =>
  'keyVersion' in kept ? referenceOf(key, Number(kept.keyVersion)) : zoneReferenceOf(key, clientId)

async function findKept({ database }: KeyManagement, { clientId, key, version }: LeavingKey) {
  if (clientId !== null) return findZoneKey(database, clientId, key)
  if (version !== null) return findHsmKey(database, key, version)
  const rows = await listHsmKeys(database)
  return rows.findLast(({ keyName, state }) => keyName === key && state === 'active')
}
