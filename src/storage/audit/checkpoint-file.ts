import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { syncPath } from '../engine/durable-files.ts'

/**
 * The newest checkpoint that was signed, as this machine remembers it outside the database: a signed note. A
 * database that was restored from a backup is behind it.
 */
export interface CheckpointFile {
  /** Null where none was ever signed here. @throws Error where the file cannot be read. */
  read(): Promise<string | null>
  /** On the disk when it resolves; a crash leaves the older one or this one whole. */
  write(note: string): Promise<void>
}

export const checkpointFile = (path: string): CheckpointFile => ({
  async read() {
    try {
      return await readFile(path, 'utf8')
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
      throw error
    }
  },
  async write(note) {
    const folder = dirname(path)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // Processes of several machines may share the folder: none must write into another's draft.
    const draft = `${path}.${hostname()}.${process.pid}`
    const handle = await open(draft, 'w', 0o600)
    try {
      await handle.writeFile(note)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, path)
    syncPath(folder)
  },
})
