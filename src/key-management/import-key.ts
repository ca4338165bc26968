import { validationFailed } from '../errors.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import type { Connection } from '../storage/database.ts'
import { findZoneMasterKey } from '../storage/zone-master-keys.ts'
import { type KeptVersion, type KeyTarget, keepKey, purposeOf } from './keep-key.ts'
import type { KeyManagement, Operator } from './key-management.ts'

/** A key that came from elsewhere, under a zone master key. */
export interface TravelledKey {
  readonly target: KeyTarget
  readonly zoneMasterKey: string
  /** X9.143 version B or D. */
  readonly keyBlock: string
  /** As its sender told it, three bytes or more in hexadecimal; null leaves it unchecked. */
  readonly keyCheckValue: string | null
}

/**
 * Takes in a key block under a zone master key. One of the installation's own is pending until it is
 * rotated to.
 * @throws `Problem` `key_refused`, `key_in_use`, `validation_failed`.
 */
export async function importKey(
  keys: KeyManagement,
  operator: Operator,
  { keyBlock, keyCheckValue, target, zoneMasterKey }: TravelledKey,
  request: RepeatableRequest | null,
): Promise<Answer<KeptVersion>> {
  const { custody } = keys.hsm
  return keepKey(keys, operator, { act: 'imported', target }, request, async (connection) =>
    custody.importKeyBlock(
      purposeOf(target),
      await zoneMasterKeyBlock(connection, zoneMasterKey),
      keyBlock,
      keyCheckValue,
    ),
  )
}

/** @throws `Problem` `validation_failed` where there is none of this name. */
export async function zoneMasterKeyBlock(connection: Connection, keyName: string): Promise<string> {
  const row = await findZoneMasterKey(connection, keyName)
  if (row) return row.keyBlock
  throw validationFailed({ pointer: '/zoneMasterKey', detail: 'must name a zone master key' })
}
