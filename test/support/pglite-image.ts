/**
 * The files of an empty embedded database. Making them takes PGlite three to four seconds, opening a
 * copy of them a third of one: so they are made once per version and kept among the temporary files.
 */
import { createHash, randomBytes } from 'node:crypto'
import { lstat, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'

/** A small write-ahead log; the default's 16 MB are most of what would be copied. */
const initDbStartParams = ['--wal-segsize=1']

/** What PGlite takes as `loadDataDir`; the same for every caller in this process. */
export const emptyPgliteImage = (): Promise<Blob> => {
  image ??= cachedImage()
  return image
}

let image: Promise<Blob> | undefined

const cachedImage = async (): Promise<Blob> => {
  const file = await cacheFile()
  const cached = await readFile(file).catch(() => undefined)
  if (cached) return new Blob([cached])
  const made = await makeImage()
  // Another process may have made the same one: a rename replaces it whole, and does no harm.
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, new Uint8Array(await made.arrayBuffer()), { mode: 0o600 })
  await rename(draft, file).catch(() => rm(draft, { force: true }))
  return made
}

const makeImage = async (): Promise<Blob> => {
  const engine = await PGlite.create({ initDbStartParams })
  try {
    return await engine.dumpDataDir('none')
  } finally {
    await engine.close()
  }
}

const cacheFile = async (): Promise<string> => {
  const entry = fileURLToPath(import.meta.resolve('@electric-sql/pglite'))
  const manifest = await readFile(join(dirname(entry), '..', 'package.json'))
  const version = createHash('sha256').update(manifest).update(initDbStartParams.join())
  const user = process.getuid?.() ?? 'any'
  const folder = join(tmpdir(), `pinfold-pglite-${user}`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const found = await lstat(folder)
  // A folder that another user put there could hold a database of their making.
  if (!found.isDirectory() || (process.getuid && found.uid !== user)) {
    throw new Error(`${folder} belongs to another user: remove it`)
  }
  return join(folder, `${version.digest('hex').slice(0, 16)}.tar`)
}
