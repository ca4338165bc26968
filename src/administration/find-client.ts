import { Problem } from '../errors.ts'
import { findAdministeredClient } from '../storage/administered-clients.ts'
import type { Administration } from './administration.ts'
import { type ClientRecord, clientRecord } from './client-record.ts'

/** One client, active or not. @throws `Problem` `not_found`. */
export async function findClient(
  { database }: Administration,
  clientId: string,
): Promise<ClientRecord> {
  const client = await findAdministeredClient(database, clientId)
  if (!client) throw new Problem('not_found')
  return clientRecord(client)
}
