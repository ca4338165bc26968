import { createSequencer } from '../../src/operations/audit/sequence.ts'
import { publishBatch } from '../../src/operations/events/publish.ts'
import type { Database } from '../../src/storage/engine/database.ts'
import { sql } from './service.ts'

/** The name of the log that a test lets begin. */
export const origin = 'test.example/audit'

/** Enters in the audit log what is there for it, as the service does by itself. */
export const enterPublished = async (database: Database): Promise<void> => {
  const enter = createSequencer({ database, origin })
  while ((await enter()) > 0);
}

/** Enters all that was done until now. */
export const enterAll = async (database: Database): Promise<void> => {
  while ((await publishBatch(database)) > 0);
  await enterPublished(database)
}

/** An entry as it lies in the database. */
export type StoredEntry = {
  index: number
  entryId: string
  clientId: string | null
  publicToken: string | null
  act: string
  commitment: Uint8Array
  salt: Uint8Array
  text: string
}

/** All entries of a log, in their order. */
export const entriesOf = (database: Database): Promise<StoredEntry[]> =>
  sql<StoredEntry>(
    database,
    `select entry_index::integer as "index", entry_id as "entryId", client_id as "clientId",
       public_token as "publicToken", act, commitment, salt, text
     from audit_entry where log = 1 order by entry_index`,
  )
