import { statfsSync } from 'node:fs'
import { Problem } from '../../domain/problem.ts'
import type { Connection } from './database.ts'

/**
 * SQLSTATE class 53, insufficient resources (PostgreSQL manual, appendix A): the disk is full, most
 * often.
 */
const insufficient = /^53/

const findErrorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

const isInsufficient = (error: unknown): boolean => insufficient.test(findErrorCode(error))

const noRoom = (cause?: unknown): Problem =>
  new Problem('unavailable', { detail: 'The database has no free space for changes.', cause })

/** What a database is short of. */
const describeShortage = (error: unknown): string =>
  findErrorCode(error) === diskFull
    ? 'The database has no free space for changes.'
    : 'The database lacks resources.'

const diskFull = '53100'

/** What a process knows of a server that ran out of resources. Its connections share it. */
export interface Shortage {
  note(error: unknown): void
  /** @throws `Problem` `unavailable` while a change would fail, once one has. */
  requireRoom(connection: Pick<Connection, 'script'>): Promise<void>
}

// One transaction, of which nothing is left.
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
        // Nothing is known where it cannot be tried.
      }
      isNoted = false
    },
  }
}

/**
 * What the disk of an embedded database must have free. Its log takes 16 MiB at a time, and where
 * that cannot be had the engine ends itself: changes are refused before.
 */
const roomLeastBytes = 32 * 1024 * 1024
const lookAgainMs = 250

/** The room on the disk where an embedded database lies; null: it lies in memory. */
export function guardRoom(folder: string | null) {
  let [isShort, lookAtMs] = [false, 0]
  return {
    /** @throws `Problem` `unavailable` where a change may not fit. */
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

/** Whether the disk that a folder lies on has room for an embedded database to go on. */
export function hasRoom(folder: string, bytes = roomLeastBytes): boolean {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize >= bytes
}

/** A failure as the caller is answered: what there is no room for is `unavailable`. */
export const withoutRoom = (error: unknown): unknown =>
  isInsufficient(error)
    ? new Problem('unavailable', { detail: describeShortage(error), cause: error })
    : error
