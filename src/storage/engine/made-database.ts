import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'

const root = new URL('../../../', import.meta.url)

/** Where `npm ci` puts an empty database in a clone: beside the engine that made it. */
export const cloneDatabase = fileURLToPath(
  new URL('node_modules/.cache/pinfold/empty-database.br', root),
)
const packageDatabase = fileURLToPath(new URL('made-database/empty.br', root))

/**
 * The empty database that was made before the first start: when the package was packed, or by
 * `npm ci` in a clone. Null where install scripts did not run. Making one takes 650 MiB of memory,
 * unpacking it takes no more than the program needs anyway.
 */
export async function findMadeDatabase(): Promise<Buffer | null> {
  for (const path of [packageDatabase, cloneDatabase]) {
    const packed = await readFile(path).catch(() => null)
    if (packed) return packed
  }
  return null
}

/** An entry of a folder, in the order of writing: a folder before its files. */
interface Entry {
  readonly path: string
  /** Null for a folder. */
  readonly bytes: number | null
}

const headerLengthBytes = 4

/** Packs the files of a closed database into one: a list of the entries, then their bytes. */
export async function packDatabase(folder: string): Promise<Buffer> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = found.map((entry) => ({
    path: join(entry.parentPath, entry.name).slice(folder.length + 1),
    isFolder: entry.isDirectory(),
  }))
  const sorted = paths.sort((one, other) => (one.path < other.path ? -1 : 1))
  const contents = await Promise.all(
    sorted.map(({ isFolder, path }) => (isFolder ? null : readFile(join(folder, path)))),
  )
  const entries = sorted.map(
    ({ path }, at): Entry => ({ path, bytes: contents[at]?.length ?? null }),
  )
  const header = Buffer.from(JSON.stringify(entries))
  const headerLength = Buffer.alloc(headerLengthBytes)
  headerLength.writeUInt32BE(header.length)
  const whole = Buffer.concat([headerLength, header, ...contents.filter((each) => each !== null)])
  return promisify(brotliCompress)(whole, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 9,
      // The three databases begin as copies of each other: with a large window, each is found in
      // the one before.
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: whole.length,
    },
  })
}

/** Writes those files into a folder, readable only by its owner. */
export async function unpackDatabase(packed: Buffer, folder: string): Promise<void> {
  const whole = await promisify(brotliDecompress)(packed)
  const start = headerLengthBytes + whole.readUInt32BE()
  const entries: readonly Entry[] = JSON.parse(whole.toString('utf8', headerLengthBytes, start))
  let at = start
  for (const { bytes, path } of entries) {
    const target = join(folder, path)
    if (bytes === null) {
      await mkdir(target, { mode: 0o700 })
    } else {
      await writeFile(target, whole.subarray(at, at + bytes), { mode: 0o600 })
      at += bytes
    }
  }
}
