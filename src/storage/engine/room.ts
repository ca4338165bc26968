import { statfsSync } from 'node:fs'
import { Problem } from '../../domain/problem.ts'
import type { Connection } from './database.ts'

/**
 * SQLSTATE class 53, insufficient resources (PostgreSQL manual, appendix A): usually a full disk.
 */
const insufficient = /^53/

const findErrorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

const isInsufficient = (error: unknown): boolean => insufficient.test(findErrorCode(error))

const noRoom = (cause?: unknown): Problem =>
  new Problem('unavailable', { detail: 'The database has no free space for changes.', cause })

/** Describes the missing resource of a database. */
const describeShortage = (error: unknown): string =>
  findErrorCode(error) === diskFull
    ? 'The database has no free space for changes.'
    : 'The database lacks resources.'

const diskFull = '53100'

/** The shortage of a server that ran out of resources, shared by all connections of a process. */
export interface Shortage {
  note(error: unknown): void
  /** @throws `Problem` `unavailable` after a change has failed, while another one would fail. */
  requireRoom(connection: Pick<Connection, 'script'>): Promise<void>
}

// One transaction, which leaves no data.
const takeRoom = 'select probe_room()'

export function watchShortage(): Shortage {
  let isNoted = false
  let trying: Promise<void> | null = null
  return {
    note(error) {
      isNoted ||= isInsufficient(error)
    },
    async requireRoom(connection) {
      if (!isNoted) return
      trying ??= connection.script(takeRoom).finally(() => {
        trying = null
      })
      try {
        await trying
      } catch (error) {
        const cause = error instanceof Problem ? error.cause : error
        if (isInsufficient(cause)) throw noRoom(cause)
        // If the probe itself cannot run, nothing is known.
      }
      isNoted = false
    },
  }
}

/**
 * The minimum free space on the disk of an embedded database. Its log grows by 16 MiB at a time,
 * and the engine ends itself if it cannot: changes are rejected before that.
 */
const roomLeastBytes = 32 * 1024 * 1024
const lookAgainMs = 250

/** Guards the free space on the disk of an embedded database; null for one in memory. */
export function guardRoom(folder: string | null) {
  let isShort = false
  let lookAtMs = 0
  return {
    /** @throws `Problem` `unavailable` if a change may not fit. */
    requireRoom(): void {
      if (folder === null) return
      if (performance.now() >= lookAtMs) {
        lookAtMs = performance.now() + lookAgainMs
        isShort = !hasRoom(folder)
      }
      if (isShort) throw noRoom()
    },
  }
}

/** Whether the disk of a folder has enough free space for an embedded database. */
export function hasRoom(folder: string, bytes = roomLeastBytes): boolean {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize >= bytes
}

/** Converts a failure for lack of room to `unavailable`. */
export const withoutRoom = (error: unknown): unknown =>
  isInsufficient(error)
    ? new Problem('unavailable', { detail: describeShortage(error), cause: error })
    : error
