import { existsSync } from 'node:fs'
import { access, constants, mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StartRefusal } from '../../domain/problem.ts'

/** Who has locked a data directory, for whoever comes second. */
interface Holder {
  readonly pid: number
  readonly startedAt: string
  readonly privateUrl: string
}

/**
 * Makes the directory, readable by its owner alone.
 * @throws Error where this user may not use it, with its path.
 */
export const makeDataDirectory = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
}

/**
 * Holds a data directory for this process. The lock is the operating system's, on a file opened by
 * SQLite: it ends with the process, however that ends, and no reused pid can be taken for it.
 * @returns what lets it go.
 * @throws `StartRefusal` that says who has locked it.
 */
export async function lockDataDirectory(folder: string, holder: Holder): Promise<() => void> {
  const file = join(folder, 'lock')
  // What SQLite says of a file that it may not open names no file.
  await (await open(file, 'a+', 0o600)).close()
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
  } catch {
    lock.close()
    throw new StartRefusal(`${folder} is in use by ${await describeHolder(folder)}.`)
  }
  await writeFile(join(folder, 'holder.json'), JSON.stringify(holder), { mode: 0o600 })
  return () => lock.close()
}

/** Whether a process has locked a data directory. */
export function isLocked(folder: string): boolean {
  if (!existsSync(join(folder, 'lock'))) return false
  const lock = new DatabaseSync(join(folder, 'lock'), { timeout: 0 })
  try {
    lock.exec('begin exclusive; rollback')
    return false
  } catch {
    return true
  } finally {
    lock.close()
  }
}

/** Who locked it last, by its own word; null where that was not written yet. */
export async function readHolder(folder: string): Promise<Holder | null> {
  try {
    return JSON.parse(await readFile(join(folder, 'holder.json'), 'utf8')) as Holder
  } catch {
    return null
  }
}

async function describeHolder(folder: string): Promise<string> {
  const holder = await readHolder(folder)
  if (holder === null) return 'another process that has just started'
  const { pid, privateUrl, startedAt } = holder
  return `another process (pid ${pid}, started ${startedAt}, private listener ${privateUrl})`
}
