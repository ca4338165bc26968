import { cp } from 'node:fs/promises'
import type { Database } from '../../src/storage/engine/database.ts'
import { openPglite } from '../../src/storage/engine/pglite.ts'
import { atEndOfFile } from './end-of-file.ts'
import { type PgliteImage, pgliteArchive, pgliteImage } from './pglite-image.ts'

/**
 * A fresh embedded database for tests.
 *
 * ```ts
 * const database = await openTestPglite({ image: 'migrated' })
 * t.after(() => database.close())
 * ```
 */

export type TestPgliteOptions = {
  /** Where its files lie; without it the database is in memory. */
  folder?: string
  /** What is in it at first: nothing, or this program's schema. */
  image?: PgliteImage
  /** What to do with it before it is handed out: the migrations, demo data. */
  prepare?: (database: Database) => Promise<unknown>
}

const opened = new Set<Database>()

/** A database of its own. Closed by the caller, or else after the last test of the file. */
export const openTestPglite = async ({
  folder,
  image = 'empty',
  prepare,
}: TestPgliteOptions = {}): Promise<Database> => {
  const engine =
    folder === undefined
      ? await openPglite(null, await pgliteArchive(image))
      : await openIn(folder, image)
  const database: Database = {
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

const openIn = async (folder: string, image: PgliteImage): Promise<Database> => {
  await cp(await pgliteImage(image), folder, { recursive: true })
  return openPglite(folder)
}

// An open one has timers that would keep a finished test file from ending.
atEndOfFile(async () => {
  for (const database of [...opened]) await database.close()
})
