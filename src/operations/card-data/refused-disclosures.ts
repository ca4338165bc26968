import { setTimeout as wait } from 'node:timers/promises'
import {
  type CountedRefusal,
  countRefusedDisclosures,
  type RefusedDisclosure,
} from '../../storage/card-data/refused-disclosures.ts'
import type { Connection } from '../../storage/engine/database.ts'

/** Records the disclosures that were refused or failed. */
export interface RefusedDisclosures {
  /**
   * Counts a refusal. It is committed when this resolves, unless the database takes longer than a
   * second or is unavailable: then it is committed later. Never rejects.
   */
  record(refused: RefusedDisclosure, requestId: string): Promise<void>
}

/**
 * The maximum number of different refusals of a client in a minute. Further ones name neither card
 * nor device.
 */
const differentPerMinute = 100
/** The same limit for all clients, while the database is unavailable. */
const pendingMost = 10_000
/** The minimum time between two statements, however many refusals wait. */
const restMs = 10
const retryMs = 1_000
/** How long an answer waits for the commit. Refusals that need no database do not depend on it. */
const answerMs = 1_000

interface Pending extends Omit<CountedRefusal, 'ageSeconds'> {
  readonly firstMs: number
}

const newBatch = () => ({
  rows: new Map<string, Pending>(),
  committed: Promise.withResolvers<void>(),
})

/**
 * Counts refusals in separate statements, one after the other; concurrent refusals share one. So a
 * flood of them uses at most one connection of this process, and adds a bounded number of rows per
 * minute.
 */
export function recordRefusals(connection: Connection): RefusedDisclosures {
  const named = namedPerMinute()
  let batch = newBatch()
  let isWriting = false

  function add(row: Pending): void {
    const { count, firstMs, requestId, ...refused } = row
    const key = JSON.stringify(Object.values(refused))
    const known = batch.rows.get(key)
    const first = known && known.firstMs < firstMs ? known : row
    batch.rows.set(key, { ...first, count: count + (known?.count ?? 0) })
  }

  async function writeAll(): Promise<void> {
    isWriting = true
    while (batch.rows.size > 0) {
      const { committed, rows } = batch
      batch = newBatch()
      try {
        const now = performance.now()
        const refusals = [...rows.values()].map(({ firstMs, ...row }) => ({
          ...row,
          ageSeconds: (now - firstMs) / 1_000,
        }))
        await countRefusedDisclosures(connection, refusals)
        committed.resolve()
        await wait(restMs, undefined, { ref: false })
      } catch {
        // The refusals are counted later, and their callers continue to wait.
        for (const row of rows.values()) add(row)
        batch.committed.promise.then(committed.resolve)
        await wait(retryMs, undefined, { ref: false })
      }
    }
    isWriting = false
  }

  return {
    async record(refused, requestId) {
      const isNamed = named(refused) && batch.rows.size < pendingMost
      const kept = isNamed ? refused : { ...refused, publicToken: null, device: null }
      add({ ...kept, requestId, count: 1, firstMs: performance.now() })
      const { promise } = batch.committed
      if (!isWriting) void writeAll()
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, answerMs)
      await Promise.race([promise, late.promise])
      clearTimeout(timer)
    },
  }
}

/** Whether a refusal is among the first different ones of its client in this minute. */
function namedPerMinute(): (refused: RefusedDisclosure) => boolean {
  let minute = 0
  const ofClients = new Map<string, Set<string>>()
  return ({ clientId, ...refused }) => {
    const now = Math.floor(performance.now() / 60_000)
    if (now !== minute) ofClients.clear()
    minute = now
    const named = ofClients.get(clientId) ?? new Set()
    ofClients.set(clientId, named)
    const key = JSON.stringify(Object.values(refused))
    if (named.size < differentPerMinute) named.add(key)
    return named.has(key)
  }
}
