import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncPath } from '../engine/durable-files.ts'

/**
 * The newest signed checkpoint that this machine remembers outside the database: a signed note. A
 * database that was restored from a backup is older.
 */
export interface CheckpointFile {
  /**
   * Null if none was signed here.
   * @throws Error if the file cannot be read.
   */
  read(): Promise<string | null>
  /**
   * Stores a note durably; after a crash, the file has the older note or this one.
   * @param mayReplace whether this note may replace one that is stored, or that another process is
   *   about to store.
   * @returns false if it may not: then the other note stays.
   */
  write(note: string, mayReplace: (remembered: string) => boolean): Promise<boolean>
}

/**
 * Opens the file that the processes of one machine share without a lock, because a stopped or
 * killed process would keep a lock. Each process first writes a candidate of its own, then reads
 * the other candidates and the file, removes the candidates that its own replaces, and only then
 * renames its own to the file. Of two concurrent processes, one sees the other. If the newer one
 * sees the older candidate, it removes that before it renames: the older process then has nothing
 * to rename, however long it was stopped. Otherwise the older candidate was written after the newer
 * process looked, so the older process sees the newer candidate and gives up. A crash may leave a
 * candidate that was never published; the next newer one removes it.
 */
export const checkpointFile = (path: string): CheckpointFile => ({
  read: () => readIfThere(path),
  async write(note, mayReplace) {
    const folder = dirname(path)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const prefix = `${basename(path)}.candidate-`
    const own = join(folder, `${prefix}${randomUUID()}`)
    // Written under another name first, so that other processes read it whole or not at all.
    const draft = `${path}.draft-${randomUUID()}`
    try {
      const handle = await open(draft, 'wx', 0o600)
      try {
        await handle.writeFile(note)
        await handle.sync()
      } finally {
        await handle.close()
      }
      await rename(draft, own)
      const names = await readdir(folder)
      const others = names
        .filter((name) => name.startsWith(prefix))
        .map((name) => join(folder, name))
        .filter((each) => each !== own)
      const candidates = await Promise.all(others.map(readIfThere))
      // After the candidates: one that has disappeared has become the file, or was replaced by a
      // newer one.
      const known = [...candidates, await readIfThere(path)]
      if (known.some((each) => each !== null && !mayReplace(each))) return false
      // Two processes that write the same note do not remove each other's candidate.
      const replaced = others.filter((_, at) => candidates[at] !== note)
      await Promise.all(replaced.map((each) => rm(each, { force: true })))
      await rename(own, path)
      syncPath(folder)
      return true
    } catch (error) {
      // A newer process removed it.
      if (isMissing(error)) return false
      throw error
    } finally {
      await Promise.all([draft, own].map((each) => rm(each, { force: true })))
    }
  },
})

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'
