import { after } from 'node:test'
import type { Database } from '../../src/storage/engine/database.ts'
import { openPglite } from '../../src/storage/engine/pglite.ts'
import { emptyPgliteImage } from './pglite-image.ts'

/**
 * An embedded database for tests, fresh and empty in about a third of a second.
 *
 * ```ts
 * const database = await openTestPglite({ prepare: (fresh) => migrate(fresh, migrations) })
 * t.after(() => database.close())
 * ```
 */

export type TestPgliteOptions = {
  /** Where its files lie; without it the database is in memory. */
  folder?: string
  /** What to do with it before it is handed out: the migrations, demo data. */
  prepare?: (database: Database) => Promise<unknown>
}

const opened = new Set<TestPglite>()

type TestPglite = Awaited<ReturnType<typeof openPglite>>

/** A database of its own. Closed by the caller, or else after the last test of the file. */
export const openTestPglite = async ({
  folder,
  prepare,
}: TestPgliteOptions = {}): Promise<TestPglite> => {
  const engine = await openPglite(folder, await emptyPgliteImage())
  const database: TestPglite = {
    ...engine,
    close: async () => {
      // A second close would throw; a test that closes early need not say so to its clean-up.
      if (opened.delete(database)) await engine.close()
    },
  }
  opened.add(database)
  await prepare?.(database)
  return database
}

// An open one has timers that would keep a finished test file from ending.
after(async () => {
  for (const database of [...opened]) await database.close()
})
