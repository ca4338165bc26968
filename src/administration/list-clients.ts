import { listClients as listStoredClients } from '../storage/administered-clients.ts'
import type { ClientKind } from '../storage/clients.ts'
import type { Administration } from './administration.ts'
import { type ClientRecord, clientRecord } from './client-record.ts'

/** Clients after this id, by their ids; of one kind, or of all. */
export const listClients = async (
  { database }: Administration,
  afterClientId: string,
  kind: ClientKind | null,
  limit: number,
): Promise<ClientRecord[]> =>
  (await listStoredClients(database, afterClientId, kind, limit)).map(clientRecord)
