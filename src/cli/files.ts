/**
 * Files that a person names, and files of an export: each is read with a bound, and only where it
 * is a regular file.
 */
import { constants } from 'node:fs'
import { lstat, mkdir, open, opendir, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { UsageError } from './command.ts'

/** A file or a folder that is left alone: why, as a sentence that names it. */
export class FileRefusal extends Error {}

/** The most bytes of a file that a person names: a key, a receipt, a card product. */
const namedFileBytes = 1_048_576

/**
 * Reads a file that was named on the command line, through symbolic links, too.
 * @throws UsageError where it is not there, cannot be read, is no regular file or has too many
 *   bytes
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
    // The parser quotes some of what it could not read.
  }
  if (typeof value === 'object' && value !== null) return value
  throw new UsageError(`${path} must hold a JSON object.`)
}

/**
 * Reads a file of a folder that others may have made.
 * @returns null where there is no such file
 * @throws FileRefusal where it, or a folder above it, is a symbolic link, where it is no regular
 *   file, or has too many bytes
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
 * The most names that are listed of one folder: as many bundles hold a thousand million entries.
 */
const mostNames = 4_000_000

/**
 * Lists the visible entries of a folder inside a folder that others may have made; an absent folder
 * has none.
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
 * Writes a file of a folder as a whole: a crash leaves the older file or this one. It replaces a
 * symbolic link, and never follows one.
 * @throws FileRefusal where the file would lie outside the folder
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

/** Takes a file or a folder out of a folder, with all that is in it. @throws FileRefusal */
export async function removeWithin(folder: string, path: string): Promise<void> {
  if (!(await orNull(lstat(join(folder, path))))) return
  await assertWithin(folder, dirname(path))
  await rm(join(folder, path), { recursive: true, force: true })
}

/** Folders that are not there yet, one below the other: none of them through a symbolic link. */
async function makeFolders(folder: string, path: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const names = path === '.' ? [] : path.split('/')
  for (const at of names.keys()) {
    const each = names.slice(0, at + 1).join('/')
    if (await orNull(lstat(join(folder, each)))) await assertWithin(folder, each)
    else await mkdir(join(folder, each), { recursive: true })
  }
}

/**
 * @throws FileRefusal where a path leads to another place than it names: out of the folder, or by a
 *   symbolic link.
 */
async function assertWithin(folder: string, path: string): Promise<void> {
  const root = await realpath(folder)
  const below = relative(root, resolve(root, path))
  const isBelow = below !== '..' && !below.startsWith(`..${sep}`)
  if (!isBelow || (await realpath(join(folder, path))) !== join(root, below)) {
    throw new FileRefusal(`${path} is a symbolic link, or is outside the folder.`)
  }
}

/** @throws FileRefusal where it is no regular file, or has more bytes. */
async function readRegular(path: string, mostBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  // A pipe that somebody puts there meanwhile is opened without a wait for its other end.
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
    // Some files say that they are empty, and are not; others grow.
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

/** Null where there is no such file. */
async function orNull<Result>(work: Promise<Result>): Promise<Result | null> {
  try {
    return await work
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw error
  }
}
