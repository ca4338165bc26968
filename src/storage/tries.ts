import type { TryCounters, TryKind } from '../domain/tries.ts'
import { type Connection, firstRow, statement } from './database.ts'

const findStatement = statement(
  'find_tries',
  `select try_limit as "limit", spent, restored, blocked_by_client as "blockedByClient"
   from try_counter join card using (public_token)
   where public_token = $1 and kind = $2 and client_id = $3`,
)

/** The tries of a client's card, or null. */
export const findTries = async (
  connection: Connection,
  publicToken: string,
  kind: TryKind,
  clientId: string,
): Promise<TryCounters | null> =>
  firstRow(await connection.query(findStatement, [publicToken, kind, clientId]))
