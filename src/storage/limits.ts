import { type Connection, firstRow, type Statement, statement } from './database.ts'

/** Uses allowed within a window that starts with the first of them. */
export interface Limit {
  readonly limitName: string
  /** What is limited, in the plural, as a caller is told it. */
  readonly purpose: string
  readonly uses: number
  readonly windowSeconds: number
}

const spend = (table: string, subject: string): Statement =>
  statement(
    `spend_${table}`,
    `insert into ${table} (${subject}, limit_name, window_start, used) values ($1, $2, now(), 1)
     on conflict (${subject}, limit_name) do update set
       used = case when ${table}.window_start <= now() - make_interval(secs => $4)
         then 1 else ${table}.used + 1 end,
       window_start = case when ${table}.window_start <= now() - make_interval(secs => $4)
         then now() else ${table}.window_start end
     where ${table}.used < $3 or ${table}.window_start <= now() - make_interval(secs => $4)
     returning used`,
  )

const remaining = (table: string, subject: string): Statement =>
  statement(
    `wait_${table}`,
    `select ceil(extract(epoch from window_start + make_interval(secs => $3) - now()))::integer
       as seconds
     from ${table} where ${subject} = $1 and limit_name = $2`,
  )

const usedUp = (table: string, subject: string): Statement =>
  statement(
    `used_up_${table}`,
    `select ceil(extract(epoch from window_start + make_interval(secs => $4) - now()))::integer
       as seconds
     from ${table} where ${subject} = $1 and limit_name = $2 and used >= $3
       and window_start > now() - make_interval(secs => $4)`,
  )

const statements = {
  card: {
    spend: spend('card_limit', 'public_token'),
    wait: remaining('card_limit', 'public_token'),
    usedUp: usedUp('card_limit', 'public_token'),
  },
  client: {
    spend: spend('client_limit', 'client_id'),
    wait: remaining('client_limit', 'client_id'),
    usedUp: usedUp('client_limit', 'client_id'),
  },
} as const

/**
 * Spends one use of a limit on a card or a client, durably.
 * @returns 0, or the seconds until the next use when there is none left.
 */
export async function spendLimit(
  connection: Connection,
  kind: keyof typeof statements,
  subject: string,
  { limitName, uses, windowSeconds }: Limit,
): Promise<number> {
  const { spend, wait } = statements[kind]
  const spent = await connection.query(spend, [subject, limitName, uses, windowSeconds])
  if (spent.length > 0) return 0
  const row = firstRow<{ seconds: number }>(
    await connection.query(wait, [subject, limitName, windowSeconds]),
  )
  return Math.max(1, row?.seconds ?? 1)
}

/**
 * Looks at a limit on a card or a client, and spends nothing.
 * @returns 0, or the seconds until the next use when there is none left.
 */
export async function waitForLimit(
  connection: Connection,
  kind: keyof typeof statements,
  subject: string,
  { limitName, uses, windowSeconds }: Limit,
): Promise<number> {
  const values = [subject, limitName, uses, windowSeconds]
  const row = firstRow<{ seconds: number }>(await connection.query(statements[kind].usedUp, values))
  return row ? Math.max(1, row.seconds) : 0
}
