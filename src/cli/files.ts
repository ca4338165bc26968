/**
 * Reads and writes files that a person names, and files of an export: only regular files, up to a
 * limit.
 */
import { constants } from 'node:fs'
import { lstat, mkdir, open, opendir, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { UsageError } from './command.ts'

/** A refused file or folder: the reason, as a sentence with its name. */
export class FileRefusal extends Error {}

/** The maximum size of a named file: a key, a receipt, a card product. */
const namedFileBytes = 1_048_576

/**
 * Reads a file named on the command line; symbolic links are followed.
 * @throws UsageError when it is missing, unreadable, not a regular file or too large
 */
export async function readNamedFile(path: string): Promise<string> {
  try {
    const bytes = (await stat(path)).isFile() ? await readRegular(path, namedFileBytes) : null
    if (bytes) return Buffer.from(bytes).toString()
  } catch (error) {
    if (error instanceof FileRefusal) throw new UsageError(error.message, { cause: error })
    throw new UsageError(`${path} cannot be read.`, { cause: error })
  }
  throw new UsageError(`${path} is not a regular file.`)
}

/**
 * Reads a JSON file that was named on the command line. @throws UsageError that names the file
 * without its content, which may be a private key.
 */
export async function readJsonFile(path: string): Promise<object> {
  const text = await readNamedFile(path)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The parser's message could quote the file.
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new UsageError(`${path} must hold a JSON object.`)
}

/**
 * Reads a file in a folder of unknown origin.
 * @returns null without such a file
 * @throws FileRefusal when it is not a regular file or too large, or when the path contains a
 *   symbolic link
 */
export async function readWithin(
  folder: string,
  path: string,
  mostBytes: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const file = join(folder, path)
  const found = await orNull(lstat(file))
  if (!found) return null
  if (!found.isFile()) throw new FileRefusal(`${path} is not a regular file.`)
  await assertWithin(folder, path)
  return orNull(readRegular(file, mostBytes))
}

/**
 * The maximum number of names in a folder: this many bundles contain a thousand million entries.
 */
const mostNames = 4_000_000

/**
 * Lists the visible entries of a subfolder in a folder of unknown origin; an absent subfolder has
 * none.
 * @throws FileRefusal
 */
export async function listWithin(folder: string, path: string): Promise<string[]> {
  const found = await orNull(lstat(join(folder, path)))
  if (!found) return []
  if (!found.isDirectory()) throw new FileRefusal(`${path} is not a folder.`)
  await assertWithin(folder, path)
  const names: string[] = []
  for await (const { name } of await opendir(join(folder, path))) {
    if (names.length >= mostNames)
      throw new FileRefusal(`${path} has more than ${mostNames} files.`)
    if (!name.startsWith('.')) names.push(name)
  }
  return names.sort()
}

/**
 * Replaces a file of a folder atomically: after a crash, it has the old or the new content. It
 * replaces a symbolic link and never follows one.
 * @throws FileRefusal when the file would be outside the folder
 */
export async function writeWithin(
  folder: string,
  path: string,
  bytes: Uint8Array,
  { isDurable = false } = {},
): Promise<void> {
  const file = join(folder, path)
  await makeFolders(folder, dirname(path))
  await assertWithin(folder, dirname(path))
  const draft = join(dirname(file), `.${path.slice(path.lastIndexOf('/') + 1)}.draft`)
  await rm(draft, { force: true })
  const handle = await open(draft, 'wx')
  try {
    await handle.writeFile(bytes)
    if (isDurable) await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(draft, file)
}

/** Deletes a file, or a folder with its content, in a folder. @throws FileRefusal */
export async function removeWithin(folder: string, path: string): Promise<void> {
  if (!(await orNull(lstat(join(folder, path))))) return
  await assertWithin(folder, dirname(path))
  await rm(join(folder, path), { recursive: true, force: true })
}

/** Creates missing folders along a path, and follows no symbolic link. */
async function makeFolders(folder: string, path: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const names = path === '.' ? [] : path.split('/')
  for (const at of names.keys()) {
    const each = names.slice(0, at + 1).join('/')
    if (await orNull(lstat(join(folder, each)))) await assertWithin(folder, each)
    else await mkdir(join(folder, each), { recursive: true })
  }
}

/** @throws FileRefusal when a path leads out of the folder or through a symbolic link. */
async function assertWithin(folder: string, path: string): Promise<void> {
  const root = await realpath(folder)
  const below = relative(root, resolve(root, path))
  const isBelow = below !== '..' && !below.startsWith(`..${sep}`)
  if (!isBelow || (await realpath(join(folder, path))) !== join(root, below)) {
    throw new FileRefusal(`${path} is a symbolic link, or is outside the folder.`)
  }
}

/** @throws FileRefusal when it is not a regular file, or is too large. */
async function readRegular(path: string, mostBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  // Opened without waiting for the other end of a pipe that could replace the file meanwhile.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const { size, ...found } = await handle.stat().then((each) => ({
      size: each.size,
      isFile: each.isFile(),
    }))
    if (!found.isFile) throw new FileRefusal(`${path} is not a regular file.`)
    const refusal = new FileRefusal(`${path} exceeds the limit of ${mostBytes} bytes.`)
    if (size > mostBytes) throw refusal
    const chunks: Buffer[] = []
    let length = 0
    // The reported size of some files is 0 or grows.
    for (;;) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.max(size - length, 1_024)))
      if (bytesRead === 0) return new Uint8Array(Buffer.concat(chunks))
      length += bytesRead
      if (length > mostBytes) throw refusal
      chunks.push(buffer.subarray(0, bytesRead))
    }
  } finally {
    await handle.close()
  }
}

/** Null without such a file. */
async function orNull<Result>(work: Promise<Result>): Promise<Result | null> {
  try {
    return await work
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw error
  }
}
