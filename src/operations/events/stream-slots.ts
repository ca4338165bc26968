import { randomUUID } from 'node:crypto'
import { Problem } from '../../domain/problem.ts'
import { claimStream, renewStreams, type StreamScope } from '../../storage/clients/streams.ts'
import type { Database } from '../../storage/engine/database.ts'

/** The maximum number of open streams of a client, over all processes. */
const streamsMax = 10
const leaseSeconds = 30
/** How often the rights of the clients are checked again. */
export const renewEveryMs = 10_000

/**
 * Claims a slot for a stream of a client.
 * @returns its holder.
 * @throws `Problem` `rate_limited` if none is free.
 */
export async function claimSlot(
  database: Database,
  clientId: string,
  scope: StreamScope,
): Promise<string> {
  const holder = randomUUID()
  const claim = { clientId, scope, holder, slots: streamsMax, seconds: leaseSeconds }
  // If two claim a slot at once, one gets it, and the other looks for the next one.
  for (let attempt = 0; attempt <= streamsMax; attempt += 1) {
    if (await claimStream(database, claim)) return holder
  }
  throw new Problem('rate_limited', {
    detail: `The limit of ${streamsMax} open streams of a client is reached.`,
    retryAfterSeconds: leaseSeconds,
  })
}

/**
 * Renews the slots of streams.
 * @returns the streams whose slots are lost: those of a client without the right, and those whose
 *   slot was taken over.
 */
export async function renewSlots<Stream extends { readonly holder: string }>(
  database: Database,
  streams: Iterable<Stream>,
): Promise<Stream[]> {
  const leased = [...streams]
  const holders = leased.map(({ holder }) => holder)
  const renewed = await renewStreams(database, holders, leaseSeconds)
  return leased.filter(({ holder }) => !renewed.has(holder))
}
