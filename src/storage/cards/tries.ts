import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryCounters, TryKind } from '../../domain/tries.ts'
import { type Database, rowOf } from '../engine/database.ts'
import { rowRead } from '../engine/shared-statements.ts'

const triesRead = rowRead('find_tries', {
  columns: `try_counter.try_limit as "limit", try_counter.spent, try_counter.restored,
    try_counter.blocked_by_client as "blockedByClient"`,
  key: ['text', 'text', 'text'],
  from: (publicToken, kind, clientId) => {
    const columns = 'try_limit, spent, restored, blocked_by_client'
    const key = { public_token: publicToken, kind }
    const card = { columns: 'client_id', key: { public_token: publicToken } }
    return `${rowOf('card', 'card', card)} cross join ${rowOf('try_counter', 'try_counter', { columns, key })}
      where card.client_id = ${clientId}`
  },
})

/** The tries of a client's card, or null. */
export const findTries = (
  database: Database,
  publicToken: PublicToken,
  kind: TryKind,
  clientId: string,
): Promise<TryCounters | null> => database.readRow(triesRead, [publicToken, kind, clientId])
