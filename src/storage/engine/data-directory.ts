import { existsSync } from 'node:fs'
import { access, constants, mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StartRefusal } from '../../domain/problem.ts'

/** The process that has locked a data directory. */
interface Holder {
  readonly pid: number
  readonly startedAt: string
  readonly privateUrl: string
}

/**
 * Creates the directory, readable only by its owner.
 * @throws Error with its path if this user cannot use it.
 */
export const makeDataDirectory = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
}

/**
 * Locks a data directory for this process. The lock belongs to the operating system, on a file
 * opened by SQLite: it ends with the process, however that ends, and a reused pid cannot be
 * mistaken for it.
 * @returns a function that releases the lock.
 * @throws `StartRefusal` that names the holder.
 */
export async function lockDataDirectory(folder: string, holder: Holder): Promise<() => void> {
  const file = join(folder, 'lock')
  // SQLite's error for an inaccessible file does not name the file.
  await (await open(file, 'a+', 0o600)).close()
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
  } catch {
    lock.close()
    throw new StartRefusal(
      `${folder} is in use by ${await describeHolder(folder)}. ` +
        'If it is starting, wait until it is ready. Otherwise stop it, or set DATA_DIR.',
    )
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

/** Returns the process that last locked it; null if it has not yet written its name. */
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
