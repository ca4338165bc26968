import { listClients } from '../storage/administered-clients.ts'
import { listNewestZoneKeys } from '../storage/listed-keys.ts'
import type { Administration } from './administration.ts'
import { type ZoneRecord, zoneKeysShown, zoneRecord } from './zone-record.ts'

/** Card networks after this id, by their ids, each with its keys. */
export async function listZones(
  { database }: Administration,
  afterClientId: string,
  limit: number,
): Promise<ZoneRecord[]> {
  const networks = await listClients(database, afterClientId, 'network', limit)
  const clientIds = networks.map(({ clientId }) => clientId)
  const keys = await listNewestZoneKeys(database, clientIds, zoneKeysShown)
  return networks.map((network) => zoneRecord(network, keys))
}
