import { Problem } from '../errors.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { retireZoneKey } from '../storage/zone-keys.ts'
import { retireZoneMasterKey } from '../storage/zone-master-keys.ts'
import { type KeyManagement, type Operator, zoneReferenceOf } from './key-management.ts'
import { onRecordOnce } from './on-record.ts'

/**
 * Retires a network's zone key, or without a client a zone master key. Its successor has another name.
 * @throws `Problem` `not_found`.
 */
export async function retireZone(
  keys: KeyManagement,
  operator: Operator,
  key: string,
  clientId: string | null,
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  return onRecordOnce(keys, request, async (connection, record) => {
    const isRetired =
      clientId === null
        ? await retireZoneMasterKey(connection, key)
        : await retireZoneKey(connection, clientId, key)
    if (!isRetired) throw new Problem('not_found')
    await record({ act: 'retired', key: zoneReferenceOf(key, clientId), ...operator })
    return null
  })
}
