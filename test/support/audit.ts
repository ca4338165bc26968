import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import {
  type AuditLogContext,
  appendEntries,
  openAuditLog,
} from '../../src/operations/audit-log/audit-log.ts'
import { commitEntries } from '../../src/operations/audit-log/commit-entries.ts'
import { createSequencer } from '../../src/operations/audit-log/sequence.ts'
import { createSigner } from '../../src/operations/audit-log/sign.ts'
import { publishBatch } from '../../src/operations/events/publish.ts'
import { lockAuditLog } from '../../src/storage/audit-log/log.ts'
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
export const listEntries = (database: Database): Promise<StoredEntry[]> =>
  sql<StoredEntry>(
    database,
    `select entry_index::integer as "index", entry_id as "entryId", client_id as "clientId",
       public_token as "publicToken", act, commitment, salt, text
     from audit_entry where log = 1 order by entry_index`,
  )

/** Appends so many entries of nobody, in the log's own way. */
export const appendMany = async (
  { database, origin }: Pick<AuditLogContext, 'database' | 'origin'>,
  count: number,
): Promise<void> => {
  await openAuditLog({ database, origin })
  const at = new Date().toISOString().replace('Z', '000Z')
  await database.transaction(async (connection) => {
    const log = await lockAuditLog(connection)
    assert.ok(log)
    const entries = Array.from({ length: count }, () => ({
      entry: randomUUID(),
      at,
      act: 'test.done',
      outcome: 'done' as const,
    }))
    await appendEntries(connection, log, commitEntries(entries))
  })
}

/** How many entries the newest checkpoint of the log in use covers. */
export const signedSize = async (database: Database): Promise<number> => {
  const [row] = await sql<{ size: number }>(
    database,
    `select coalesce(max(size), 0)::float8 as "size" from audit_checkpoint
     where log = (select max(log) from audit_log)`,
  )
  return row?.size ?? 0
}

/** Has all that is entered signed: a checkpoint a second at most. */
export const signAll = async (audit: AuditLogContext): Promise<void> => {
  const sign = createSigner(audit)
  const { size } = await openAuditLog(audit)
  while ((await signedSize(audit.database)) < size) {
    assert.notEqual(await sign(), 'refused')
    await wait(20)
  }
}

/** Makes the checkpoints two seconds older: the next one may be signed at once. */
export const ageCheckpoints = (database: Database): Promise<unknown> =>
  sql(
    database,
    `update audit_checkpoint set signed_at = signed_at - interval '2 seconds'
     where log = (select max(log) from audit_log) returning log`,
  )

/** Takes entries away, and what was signed of them, as a backup of before would bring it back. */
export const rollBackTo = async (database: Database, size: number): Promise<void> => {
  await sql(database, 'delete from audit_checkpoint where size > $1 returning size', [size])
  await sql(database, 'delete from audit_entry where entry_index >= $1 returning log', [size])
  await sql(database, 'update audit_log set size = $1 returning log', [size])
  await sql(database, 'delete from audit_tile where level > 0 returning log')
  await sql(
    database,
    `update audit_tile set hashes = substring(hashes from 1 for 32 * $1::integer)
     where level = 0 returning log`,
    [size],
  )
}
