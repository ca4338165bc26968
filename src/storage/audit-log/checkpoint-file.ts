import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncPath } from '../engine/durable-files.ts'

/**
 * The newest checkpoint that was signed, as this machine remembers it outside the database: a
 * signed note. A database that was restored from a backup is behind it.
 */
export interface CheckpointFile {
  /** Null where none was ever signed here. @throws Error where the file cannot be read. */
  read(): Promise<string | null>
  /**
   * On the disk when it resolves; a crash leaves the older one or this one whole.
   * @param mayReplace whether a note that is remembered, or that another process is about to, may
   *   give way to this one.
   * @returns false where one may not: then that one stays.
   */
  write(note: string, mayReplace: (remembered: string) => boolean): Promise<boolean>
}

/**
 * Processes of one machine share the file without a lock, which one that is held up or killed would
 * keep. Each writes a candidate of its own first, then looks at the others and at the file, takes
 * away the candidates that its own replaces, and only then renames its own to the file. Of two at
 * once, one sees the other. If the newer sees the older, it takes its candidate away before it
 * renames: however long the older was held up, it has nothing left to rename. If it does not, the
 * older's was written after it looked, so the older sees the newer one and gives up. A candidate
 * that a crash left behind was never published: it goes with the next newer one.
 */
export const checkpointFile = (path: string): CheckpointFile => ({
  read: () => readIfThere(path),
  async write(note, mayReplace) {
    const folder = dirname(path)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const prefix = `${basename(path)}.candidate-`
    const own = join(folder, `${prefix}${randomUUID()}`)
    // Another process reads it whole or not at all.
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
      // After the candidates: one that is gone by now has become the file, or gave way to a newer
      // one.
      const known = [...candidates, await readIfThere(path)]
      if (known.some((each) => each !== null && !mayReplace(each))) return false
      // Two that write the same let each other be.
      const replaced = others.filter((_, at) => candidates[at] !== note)
      await Promise.all(replaced.map((each) => rm(each, { force: true })))
      await rename(own, path)
      syncPath(folder)
      return true
    } catch (error) {
      // A newer one took it away.
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
