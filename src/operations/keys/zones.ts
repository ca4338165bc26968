import type { Requester } from '../../domain/client.ts'
import { Problem } from '../../domain/problem.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import {
  type AdministeredClient,
  findAdministeredClient,
  listClientRows,
  updateClient,
} from '../../storage/clients/clients.ts'
import type { Database } from '../../storage/engine/database.ts'
import { lockInstallation } from '../../storage/engine/installation.ts'
import { listNewestZoneKeys } from '../../storage/keys/lists.ts'
import { type DatedZoneKeyRow, listZoneKeys, retireZoneKey } from '../../storage/keys/zone-keys.ts'
import { recordAct, recordKeyAct } from '../acts/acts.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'

/** The maximum number of keys shown for a network. The list of keys has all of them. */
const zoneKeysShown = 100

/** The dependencies of the operations on the zones of card networks. */
interface ZoneContext {
  readonly database: Database
  readonly hsm: Hsm
}

type ZoneClient = Pick<AdministeredClient, 'clientId' | 'clientName' | 'active'>

/** A card network: its client, and the keys of its PIN blocks. */
export interface ZoneRecord extends ZoneClient {
  /** At most {@link zoneKeysShown}: active ones before retired ones. */
  readonly keys: readonly ZoneKeyRecord[]
}

/** A zone key as an operator sees it, without its key block. */
interface ZoneKeyRecord {
  readonly key: string
  readonly algorithm: string
  readonly pinBlockFormats: readonly string[]
  readonly keyCheckValue: string
  readonly createdAt: string
  readonly retiredAt: string | null
}

const zoneRecord = (
  { active, clientId, clientName }: ZoneClient,
  keys: readonly DatedZoneKeyRow[],
): ZoneRecord => ({
  clientId,
  clientName,
  active,
  keys: keys
    .filter((key) => key.clientId === clientId)
    .map(({ algorithm, createdAt, keyCheckValue, keyName, pinBlockFormats, retiredAt }) => ({
      key: keyName,
      algorithm,
      pinBlockFormats,
      keyCheckValue,
      createdAt: createdAt.toISOString(),
      retiredAt: retiredAt?.toISOString() ?? null,
    })),
})

/** Lists card networks after this id, by id, with their keys. */
export async function listZones(
  { database }: Pick<ZoneContext, 'database'>,
  afterClientId: string,
  limit: number,
): Promise<ZoneRecord[]> {
  const networks = await listClientRows(database, afterClientId, 'network', limit)
  const clientIds = networks.map(({ clientId }) => clientId)
  const keys = await listNewestZoneKeys(database, clientIds, zoneKeysShown)
  return networks.map((network) => zoneRecord(network, keys))
}

/**
 * Retires a card network: disables it, and rejects PIN blocks under all its keys.
 * @throws `Problem` `not_found`.
 */
export const retireZone = (
  context: ZoneContext,
  operator: Requester,
  clientId: string,
  request: RepeatableRequest | null,
): Promise<Answer<ZoneRecord>> =>
  once(context, request, async (connection) => {
    await lockInstallation(connection)
    const network = await findAdministeredClient(connection, clientId)
    if (network?.kind !== 'network') throw new Problem('not_found')
    const keys = await listZoneKeys(connection, clientId)
    const active = keys.filter(({ retiredAt }) => retiredAt === null)
    for (const { keyName } of active) {
      await retireZoneKey(connection, clientId, keyName)
      // Recorded among the acts on keys, too, where operators look for the end of a key.
      const act = { act: 'retired', key: `${clientId}/${keyName}` }
      await recordKeyAct(connection, { ...act, ...operator })
    }
    await updateClient(connection, { ...network, active: false })
    await recordAct(connection, operator, {
      act: 'zone retired',
      subjectKind: 'client',
      subject: clientId,
      details: { retiredKeys: active.map(({ keyName }) => keyName) },
    })
    const shown = await listNewestZoneKeys(connection, [clientId], zoneKeysShown)
    return zoneRecord({ ...network, active: false }, shown)
  })
