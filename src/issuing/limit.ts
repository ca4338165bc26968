import { Problem } from '../errors.ts'
import type { Connection } from '../storage/database.ts'
import { type Limit, spendLimit } from '../storage/limits.ts'

/** Spends one use, or refuses. @throws `Problem` `rate_limited` with the wait until the next use. */
export async function spendUse(
  connection: Connection,
  kind: 'card' | 'client',
  subject: string,
  limit: Limit | null,
): Promise<void> {
  if (!limit) return
  const waitSeconds = await spendLimit(connection, kind, subject, limit)
  if (waitSeconds === 0) return
  throw new Problem('rate_limited', {
    detail: `${limit.uses} ${limit.purpose} in ${limit.windowSeconds} seconds are allowed per ${kind}.`,
    retryAfterSeconds: waitSeconds,
  })
}
