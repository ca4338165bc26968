import { Problem } from '../errors.ts'
import { retireZoneKey } from '../storage/zone-keys.ts'
import { retireZoneMasterKey } from '../storage/zone-master-keys.ts'
import type { KeyManagement, Operator } from './key-management.ts'

/**
 * Retires a network's zone key, or without a client a zone master key. Its successor has another name.
 * @throws `Problem` `not_found`.
 */
export async function retireZone(
  keys: KeyManagement,
  operator: Operator,
  key: string,
  clientId: string | null,
): Promise<void> {
  const isRetired =
    clientId === null
      ? await retireZoneMasterKey(keys.database, key)
      : await retireZoneKey(keys.database, clientId, key)
  if (!isRetired) throw new Problem('not_found')
  await keys.onAct({ act: 'retired', key, ...operator })
}
