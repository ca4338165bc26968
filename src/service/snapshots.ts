import { Problem } from '../domain/problem.ts'
import { type CallGate, createCallGate } from '../listeners/http/call-gate.ts'
import type { AuditLogContext } from '../operations/audit-log/audit-log.ts'
import type { MovableClock } from '../sandbox/clock.ts'
import { createSnapshots, type Snapshots } from '../sandbox/snapshots.ts'
import type { Config } from './config/config.ts'
import type { Peers } from './processes/peers.ts'

interface SnapshotParts {
  readonly audit: AuditLogContext
  readonly clock: MovableClock
  /** The other processes of this command, and how many there are; null for a single process. */
  readonly peers: Peers | null
  readonly otherProcesses: number
  /** Forgets everything that this process has read from the database and cached. */
  forget(): Promise<void>
}

/** Creates the gate of calls in a sandbox; null in production. */
export const createSandboxGate = ({ sandbox }: Pick<Config, 'sandbox'>): CallGate | null =>
  sandbox ? createCallGate() : null

/**
 * Creates the snapshots of a sandbox, which hold the calls of all its processes back. Null without
 * a gate.
 */
export function createSandboxSnapshots(
  gate: CallGate | null,
  { audit, clock, forget, otherProcesses, peers }: SnapshotParts,
): Snapshots | null {
  if (!gate) return null
  const openAgain = async (openAt: number | null): Promise<void> => {
    if (openAt !== null) clock.setAhead(openAt)
    await forget().finally(() => gate.open())
  }
  let isClosedForPeer = false
  peers?.onRequest('snapshot', async ({ openAt }) => {
    if (openAt === null) {
      const isQuiet = await gate.close(false)
      isClosedForPeer ||= isQuiet
      return isQuiet
    }
    if (isClosedForPeer) await openAgain(openAt)
    isClosedForPeer = false
    return true
  })
  return createSnapshots({
    audit,
    clock,
    async whileQuiet(work) {
      const isQuiet = await gate.close(true)
      if (!isQuiet) throw tooBusy()
      try {
        const others = (await peers?.ask('snapshot', { openAt: null })) ?? []
        if (others.filter(Boolean).length < otherProcesses) throw tooBusy()
        return await work()
      } finally {
        await openAgain(null)
        await peers?.ask('snapshot', { openAt: clock.aheadMs() })
      }
    },
  })
}

const tooBusy = (): Problem =>
  new Problem('unavailable', {
    detail: 'The running calls did not end in time, or a process is starting. Nothing was done.',
    retryAfterSeconds: 1,
  })
