import { readFile } from 'node:fs/promises'
import { type Connection, firstRow } from './database.ts'
import { loadStatements } from './statements.ts'

/** The privileges of the service's role, as SQL. */
const privileges = new URL('../../../database/privileges.sql', import.meta.url)

/** Tables that the service writes only by functions, if another role owns the schema. */
export const protectedTables = [
  'audit_act',
  'audit_act_number',
  'audit_checkpoint',
  'audit_entered',
  'audit_entry',
  'audit_feed',
  'audit_log',
  'audit_tile',
  'authorization_request',
  'card_limit',
  'client_limit',
  'event',
  'event_default',
  'feed_head',
  'idempotency_record',
  'installed_function',
  'migration',
  'payment',
  'payment_message',
  'published_event',
  'published_event_default',
  'refused_disclosure',
  'try_counter',
  'card_mistake',
  'chip',
  'stripe_counter',
] as const

/** The role of a session, and its privileges. */
export interface RoleFacts {
  readonly role: string
  readonly databaseName: string
  /** Null if the search path names no schema that the role may use. */
  readonly schemaName: string | null
  /** When the server started. */
  readonly startedAt: Date
  /** The role that owns the tables; null before they are created. */
  readonly owner: string | null
  /** Whether the role is the owner, or may become it. */
  readonly actsAsOwner: boolean
  /** The protected tables that the role may write directly. */
  readonly writableTables: readonly string[]
}

const declare = loadStatements(import.meta.url)

const selectRole = declare<{ protectedTables: readonly string[] }, RoleFacts>('examine_role')

export async function examineRole(connection: Connection): Promise<RoleFacts> {
  const row = firstRow(await selectRole(connection, { protectedTables }))
  if (!row) throw new Error('The database returned no facts about its role.')
  return row
}

/**
 * Grants a role the privileges that the service needs, and no others. The owner of the schema calls
 * it, in its transaction.
 */
export async function grantPrivileges(connection: Connection, service: string): Promise<void> {
  const { schemaName } = await examineRole(connection)
  if (schemaName === null) throw new Error('The search path names no schema.')
  const text = await readFile(privileges, 'utf8')
  await connection.script(
    text
      .replaceAll(':"schema"', () => quoteIdentifier(schemaName))
      .replaceAll(':"service"', () => quoteIdentifier(service))
      .replaceAll(":'service'", () => `'${service.replaceAll("'", "''")}'`),
  )
}

const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`
