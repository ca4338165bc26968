import { Problem } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { findAdministeredClient, updateClient } from '../storage/administered-clients.ts'
import type { Connection } from '../storage/database.ts'
import { holdInstallation } from '../storage/installation.ts'
import { insertKeyAct } from '../storage/key-acts.ts'
import { listNewestZoneKeys } from '../storage/listed-keys.ts'
import { listZoneKeys, retireZoneKey } from '../storage/zone-keys.ts'
import { type Administration, type Operator, recordAct } from './administration.ts'
import { type ZoneRecord, zoneKeysShown, zoneRecord } from './zone-record.ts'

/**
 * Retires a card network: it is disabled, and no PIN block is taken under any of its keys any more.
 * @throws `Problem` `not_found`.
 */
export const retireZone = (
  administration: Administration,
  operator: Operator,
  clientId: string,
  request: RepeatableRequest | null,
): Promise<Answer<ZoneRecord>> =>
  once(administration, request, async (connection) => {
    await holdInstallation(connection)
    const network = await findAdministeredClient(connection, clientId)
    if (network?.kind !== 'network') throw new Problem('not_found')
    const keys = await listZoneKeys(connection, clientId)
    const active = keys.filter(({ retiredAt }) => retiredAt === null)
    for (const { keyName } of active) await retireKey(connection, operator, clientId, keyName)
    await updateClient(connection, { ...network, active: false })
    const details = { retiredKeys: active.map(({ keyName }) => keyName) }
    const act = { act: 'zone retired', subjectKind: 'client', subject: clientId } as const
    await recordAct(connection, operator, { ...act, details })
    const shown = await listNewestZoneKeys(connection, [clientId], zoneKeysShown)
    return zoneRecord({ ...network, active: false }, shown)
  })

/** Among the acts on keys, too: whoever looks there for the end of a key finds it. */
async function retireKey(
  connection: Connection,
  operator: Operator,
  clientId: string,
  keyName: string,
): Promise<void> {
  await retireZoneKey(connection, clientId, keyName)
  await insertKeyAct(connection, { act: 'retired', key: `${clientId}/${keyName}`, ...operator })
}
