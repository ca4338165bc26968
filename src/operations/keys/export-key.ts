import { Problem } from '../../domain/problem.ts'
import { findZoneKey } from '../../storage/clients/zone-keys.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { findHsmKey, listHsmKeys } from '../../storage/keys/hsm-keys.ts'
import type { Answer, RepeatableRequest } from '../idempotency/idempotency.ts'
import {
  changeKeysOnce,
  type KeyOperations,
  type Operator,
  referenceOf,
  zoneReferenceOf,
} from './keys.ts'
import { zoneMasterKeyBlock } from './store-key.ts'

/** A key to send elsewhere. */
interface LeavingKey {
  readonly key: string
  /** Of one of the installation's own; the newest active one unless given. */
  readonly version: number | null
  /** The network client of a zone key. */
  readonly clientId: string | null
  readonly zoneMasterKey: string
}

/** A key block for another installation. */
interface ExportedKey {
  readonly key: string
  readonly keyBlock: string
  readonly keyCheckValue: string
}

/**
 * Wraps an exportable key under a zone master key, as a key block and in no other form.
 * @throws `Problem` `not_found`; `key_refused` unless it may leave under this key.
 */
export async function exportKey(
  keys: KeyOperations,
  operator: Operator,
  leaving: LeavingKey,
  request: RepeatableRequest | null,
): Promise<Answer<ExportedKey>> {
  // Answered after the commit, so it is on record before it leaves.
  return changeKeysOnce(keys, request, async (connection, record) => {
    const kept = await findKept(connection, leaving)
    if (!kept) throw new Problem('not_found')
    const zoneMasterKey = await zoneMasterKeyBlock(connection, leaving.zoneMasterKey)
    const keyBlock = await keys.hsm.custody.exportKeyBlock(kept.keyBlock, zoneMasterKey)
    const act = `exported under ${leaving.zoneMasterKey}`
    await record({ act, key: leavingReferenceOf(leaving, kept), ...operator })
    return { key: leaving.key, keyBlock, keyCheckValue: kept.keyCheckValue }
  })
}

const leavingReferenceOf = ({ clientId, key }: LeavingKey, kept: object): string =>
  'keyVersion' in kept ? referenceOf(key, Number(kept.keyVersion)) : zoneReferenceOf(key, clientId)

async function findKept(connection: Connection, { clientId, key, version }: LeavingKey) {
  if (clientId !== null) return findZoneKey(connection, clientId, key)
  if (version !== null) return findHsmKey(connection, key, version)
  const rows = await listHsmKeys(connection)
  return rows.findLast(({ keyName, state }) => keyName === key && state === 'active')
}

/** A key's algorithm and length, where its purpose leaves a choice. */
export type { KeyForm } from '../../hsm/contract/key-administration.ts'
