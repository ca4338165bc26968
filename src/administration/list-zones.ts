import { listClients } from '../storage/administered-clients.ts'
import { listZoneKeys } from '../storage/zone-keys.ts'
import type { Administration } from './administration.ts'
import { type ZoneRecord, zoneRecord } from './zone-record.ts'

/** Card networks after this id, by their ids, each with its keys. */
export async function listZones(
  { database }: Administration,
  afterClientId: string,
  limit: number,
): Promise<ZoneRecord[]> {
  const networks = await listClients(database, afterClientId, 'network', limit)
  const keys = await listZoneKeys(database)
  return networks.map((network) => zoneRecord(network, keys))
}
