import { Problem } from '../errors.ts'
import type { Connection } from '../storage/database.ts'
import { type Limit, spendLimit, waitForLimit } from '../storage/limits.ts'

type Kind = 'card' | 'client'

/** Spends one use, or refuses. @throws `Problem` `rate_limited` with the wait until the next use. */
export async function spendUse(
  connection: Connection,
  kind: Kind,
  subject: string,
  limit: Limit | null,
): Promise<void> {
  if (limit) refuseWait(kind, limit, await spendLimit(connection, kind, subject, limit))
}

/** Refuses where no use is left, and spends none. @throws `Problem` `rate_limited`, as above. */
export async function refuseUsedUp(
  connection: Connection,
  kind: Kind,
  subject: string,
  limit: Limit | null,
): Promise<void> {
  if (limit) refuseWait(kind, limit, await waitForLimit(connection, kind, subject, limit))
}

function refuseWait(kind: Kind, limit: Limit, waitSeconds: number): void {
  if (waitSeconds === 0) return
  throw new Problem('rate_limited', {
    detail: `${limit.uses} ${limit.purpose} in ${limit.windowSeconds} seconds are allowed per ${kind}.`,
    retryAfterSeconds: waitSeconds,
  })
}
