import type { Requester } from '../../domain/client.ts'
import { Problem } from '../../domain/problem.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { findHsmKey, listHsmKeys } from '../../storage/keys/hsm-keys.ts'
import { findZoneKey } from '../../storage/keys/zone-keys.ts'
import type { Answer, RepeatableRequest } from '../idempotency/idempotency.ts'
import { changeKeysOnce, composeReference, composeZoneReference, type KeyContext } from './keys.ts'
import { makeKey } from './make-key.ts'
import { type AddedKey, type KeyTarget, toKeyPurpose, zoneMasterKeyBlock } from './store-key.ts'

/** A key from another party, under a zone master key. */
interface KeyInTransport {
  readonly target: KeyTarget
  readonly zoneMasterKey: string
  /** X9.143 version B or D. */
  readonly keyBlock: string
  /** The sender's check value, at least three bytes in hexadecimal; null skips the check. */
  readonly keyCheckValue: string | null
}

/**
 * Imports a key block under a zone master key. A key of the installation is pending until a
 * rotation to it.
 * @throws `Problem` `key_refused`, `key_in_use`, `validation_failed`.
 */
export async function importKey(
  keys: KeyContext,
  operator: Requester,
  { keyBlock, keyCheckValue, target, zoneMasterKey }: KeyInTransport,
  request: RepeatableRequest | null,
): Promise<Answer<AddedKey>> {
  const imported = {
    act: 'imported',
    target,
    make: async (connection: Connection) =>
      keys.hsm.custody.importKeyBlock(
        toKeyPurpose(target),
        await zoneMasterKeyBlock(connection, zoneMasterKey),
        keyBlock,
        keyCheckValue,
      ),
  }
  return makeKey(keys, operator, imported, request)
}

/** A key to export. */
interface LeavingKey {
  readonly key: string
  /** The version of an installation key; by default the newest active one. */
  readonly version: number | null
  /** The network client of a zone key. */
  readonly clientId: string | null
  readonly zoneMasterKey: string
}

/** A key block for another party. */
interface ExportedKey {
  readonly key: string
  readonly keyBlock: string
  readonly keyCheckValue: string
}

const noKey =
  'No key has this name, version and network. List the keys, and retry with those of one.'

/**
 * Exports a key under a zone master key, only as a key block.
 * @throws `Problem` `not_found`; `key_refused` unless it can be exported under this key.
 */
export async function exportKey(
  keys: KeyContext,
  operator: Requester,
  { clientId, key, version, zoneMasterKey }: LeavingKey,
  request: RepeatableRequest | null,
): Promise<Answer<ExportedKey>> {
  // Answered after the commit, so that the export is recorded before the key leaves.
  return changeKeysOnce(keys, request, async ({ connection, record }) => {
    const findStored = async () => {
      if (clientId !== null) return findZoneKey(connection, clientId, key)
      if (version !== null) return findHsmKey(connection, key, version)
      const rows = await listHsmKeys(connection)
      return rows.findLast(({ keyName, state }) => keyName === key && state === 'active')
    }
    const stored = await findStored()
    if (!stored) throw new Problem('not_found', { detail: noKey })
    const wrappingKey = await zoneMasterKeyBlock(connection, zoneMasterKey)
    const reference =
      'keyVersion' in stored
        ? composeReference(key, stored.keyVersion)
        : composeZoneReference(key, clientId)
    const { exportKeyBlock } = keys.hsm.custody
    const keyBlock = await exportKeyBlock(reference, stored.keyBlock, wrappingKey)
    await record({ act: `exported under ${zoneMasterKey}`, key: reference, ...operator })
    return { key, keyBlock, keyCheckValue: stored.keyCheckValue }
  })
}
