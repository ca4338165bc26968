import { Problem } from '../../domain/problem.ts'
import * as storedLimits from '../../storage/cards/limits.ts'
import type { Connection } from '../../storage/engine/database.ts'

/**
 * Spends one use.
 * @throws `Problem` `rate_limited` with the wait until the next use.
 */
export async function spendUse(
  connection: Connection,
  kind: storedLimits.LimitKind,
  subject: string,
  limit: storedLimits.Limit | null,
): Promise<void> {
  if (!limit || (await storedLimits.spendLimit(connection, kind, subject, limit))) return
  await refuseUsedUp(connection, [{ kind, subject, limit }])
  // A use became free meanwhile; the next call gets it.
  throw refusal({ kind, limit, seconds: 1 })
}

/**
 * Checks that a use is left, without spending it.
 * @throws `Problem` `rate_limited` with the wait until the next use.
 */
export async function refuseUsedUp(
  connection: Connection,
  limits: readonly storedLimits.LimitOf[],
): Promise<void> {
  const usedUp = limits.length > 0 ? await storedLimits.findUsedUpLimit(connection, limits) : null
  if (usedUp) throw refusal(usedUp)
}

const refusal = ({
  kind,
  limit,
  seconds,
}: Omit<storedLimits.LimitOf, 'subject'> & { seconds: number }) =>
  new Problem('rate_limited', {
    detail:
      `The limit of ${limit.uses} ${limit.purpose} in ${limit.windowSeconds} seconds for each ` +
      `${kind} is reached.`,
    retryAfterSeconds: seconds,
  })
