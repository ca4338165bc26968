import type { Requester } from '../domain/client.ts'
import { Problem } from '../domain/problem.ts'
import type { AuditLogContext } from '../operations/audit-log/audit-log.ts'
import { beginChecksAgain } from '../operations/audit-log/begin-checks-again.ts'
import { createSequencer } from '../operations/audit-log/sequence.ts'
import { publishBatch } from '../operations/events/publish.ts'
import { insertAct } from '../storage/acts/acts.ts'
import type { Connection } from '../storage/engine/database.ts'
import { storeClockAhead } from '../storage/engine/installation.ts'
import * as stored from '../storage/sandbox/snapshots.ts'
import type { MovableClock } from './clock.ts'

/** A snapshot, to which the sandbox can be restored. */
interface Snapshot {
  readonly snapshotName: string
  readonly takenAt: string
  /** The instant of a moved clock. */
  readonly clock: string | null
  readonly rows: number
}

/** The dependencies of snapshots. */
export interface SnapshotContext {
  readonly audit: AuditLogContext
  readonly clock: MovableClock
  /**
   * Runs the work while no call runs in any process of this command. Afterwards all processes have
   * the same clock and none has cached anything from before.
   * @throws `Problem` `unavailable` if the running calls do not end.
   */
  whileQuiet<Result>(work: () => Promise<Result>): Promise<Result>
}

/** Takes, restores, lists and deletes snapshots of the sandbox. */
export interface Snapshots {
  take(snapshotName: string): Promise<Snapshot>
  restore(operator: Requester, snapshotName: string): Promise<Snapshot>
  /** Lists the snapshots after a name, by name. */
  list(after: string, limit: number): Promise<readonly Snapshot[]>
  /** Publishes all events. */
  settle(): Promise<void>
  delete(snapshotName: string): Promise<void>
}

/** The maximum number of snapshots. */
const snapshotsMost = 100
/** How often entering is tried again, since background work may record further events. */
const attemptsMost = 5

export function createSnapshots(context: SnapshotContext): Snapshots {
  const { audit, clock, whileQuiet } = context
  const { database } = audit
  return {
    async take(snapshotName) {
      refuseCluster(context)
      const known = await stored.listSnapshots(database, '', snapshotsMost)
      const isNew = known.every((each) => each.snapshotName !== snapshotName)
      if (isNew && known.length >= snapshotsMost) {
        throw unusable(`The limit of ${snapshotsMost} snapshots is reached. Delete one first.`)
      }
      return whileQuiet(() =>
        withEverythingEntered(context, async (connection) => {
          const isMoved = clock.aheadMs() !== 0
          await stored.insertSnapshot(connection, snapshotName, isMoved ? clock.now() : null)
          return toSnapshot(await requireSnapshot(connection, snapshotName))
        }),
      )
    },
    async restore(operator, snapshotName) {
      refuseCluster(context)
      await requireSnapshot(database, snapshotName)
      return whileQuiet(async () => {
        const row = await withEverythingEntered(context, (connection) =>
          restoreIn(connection, audit, operator, snapshotName),
        )
        clock.setAhead(row.clock === null ? 0 : row.clock.getTime() - Date.now())
        await storeClockAhead(database, clock.aheadMs())
        return toSnapshot(row)
      })
    },
    async list(after, limit) {
      return (await stored.listSnapshots(database, after, limit)).map(toSnapshot)
    },
    async settle() {
      while ((await publishBatch(database)) > 0);
    },
    async delete(snapshotName) {
      const isDeleted = await stored.deleteSnapshot(database, snapshotName)
      if (!isDeleted) throw new Problem('not_found')
    },
  }
}

const toSnapshot = ({ clock, takenAt, ...row }: stored.SnapshotRow): Snapshot => ({
  ...row,
  takenAt: takenAt.toISOString(),
  clock: clock?.toISOString() ?? null,
})

const unusable = (detail: string): Problem => new Problem('snapshot_unusable', { detail })

/** A cluster cannot replace the rows of all its nodes in one statement. */
function refuseCluster({ audit: { database } }: SnapshotContext): void {
  if (database.isCluster()) throw unusable('A sandbox on a cluster has no snapshots.')
}

async function requireSnapshot(
  connection: Connection,
  snapshotName: string,
): Promise<stored.SnapshotRow> {
  const row = await stored.findSnapshot(connection, snapshotName)
  if (row) return row
  throw new Problem('not_found', { detail: `There is no snapshot ${snapshotName}.` })
}

/** In one transaction with the record of the act, which the audit log keeps for ever. */
async function restoreIn(
  connection: Connection,
  audit: AuditLogContext,
  { clientId, requestId }: Requester,
  snapshotName: string,
): Promise<stored.SnapshotRow> {
  const row = await requireSnapshot(connection, snapshotName)
  const outcome = await stored.restoreRows(connection, snapshotName)
  if (outcome === 'missing') throw new Problem('not_found')
  const refusal = outcome === 'restored' ? null : refusals[outcome]
  if (refusal) throw unusable(refusal)
  await insertAct(connection, {
    act: 'sandbox.restored',
    subjectKind: 'setting',
    subject: 'sandbox',
    details: JSON.stringify({ snapshot: snapshotName, takenAt: row.takenAt.toISOString() }),
    clientId,
    requestId,
  })
  await beginChecksAgain(connection, audit)
  return row
}

const refusals = {
  other_keys: 'The snapshot may need keys that were deleted or replaced since. Take another one.',
  other_schema: 'Another version of the program took the snapshot. Take another one.',
} as const

/**
 * Runs the work in a transaction in which every event and every try is in the audit log: the log is
 * never rewound, and rows that a snapshot contains are never entered twice.
 */
async function withEverythingEntered<Result>(
  { audit }: SnapshotContext,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const { database } = audit
  const enter = createSequencer(audit)
  for (let attempts = 1; attempts <= attemptsMost; attempts += 1) {
    while ((await publishBatch(database)) > 0);
    while ((await enter()) > 0);
    const done = await database.transaction(async (connection) =>
      (await stored.hasActsOutsideLog(connection)) ? null : { result: await work(connection) },
    )
    if (done) return done.result
  }
  throw new Problem('unavailable', {
    detail: 'A try of a card has no result yet, or the audit log takes no entries.',
    retryAfterSeconds: 35,
  })
}
