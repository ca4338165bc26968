import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import { migrate } from '../../src/storage/engine/migrate.ts'
import { openPglite } from '../../src/storage/engine/pglite.ts'
import { cacheFolder } from './folders.ts'

/**
 * The embedded databases that tests begin with: an empty one, and one at this program's schema.
 * Making one takes seconds, so each is made once and kept in `node_modules/.cache`, as a folder and
 * as PGlite's own archive of that folder.
 */

export type PgliteImage = 'empty' | 'migrated'

const schema = new URL('../../database/', import.meta.url)

/** A small write-ahead log: PGlite's own of 16 MB would be most of what is copied. */
const initDbStartParams = ['--wal-segsize=1']

/** The folder of an image, to be copied. */
export const pgliteImage = async (kind: PgliteImage): Promise<string> =>
  join(await makeOnce(kind), 'pgdata')

/** The same as an archive, which a new database in memory is loaded from. */
export const pgliteArchive = (kind: PgliteImage): Promise<Blob> => {
  const archive = archives.get(kind) ?? readArchive(kind)
  archives.set(kind, archive)
  return archive
}

const archives = new Map<PgliteImage, Promise<Blob>>()

const readArchive = async (kind: PgliteImage): Promise<Blob> =>
  new Blob([await readFile(join(await makeOnce(kind), 'pgdata.tar'))])

const images = new Map<PgliteImage, Promise<string>>()

const makeOnce = (kind: PgliteImage): Promise<string> => {
  const image = images.get(kind) ?? findOrMake(kind)
  images.set(kind, image)
  return image
}

const findOrMake = async (kind: PgliteImage): Promise<string> => {
  const cache = await cacheFolder('pglite')
  const folder = join(cache, `${kind}-${await computeVersion(kind)}`)
  if (existsSync(folder)) return folder
  for (const other of await readdir(cache)) {
    if (other.startsWith(`${kind}-`)) await rm(join(cache, other), { recursive: true, force: true })
  }
  const draft = join(cache, `draft-${randomBytes(6).toString('hex')}`)
  await mkdir(draft)
  await makeImage(kind, draft)
  // Another process may have made the same one meanwhile.
  await rename(draft, folder).catch(async (error: unknown) => {
    await rm(draft, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  })
  return folder
}

const makeImage = async (kind: PgliteImage, target: string): Promise<void> => {
  const folder = join(target, 'pgdata')
  const made = await PGlite.create(folder, { initDbStartParams })
  for (const name of ['min_wal_size', 'max_wal_size']) {
    await made.exec(`alter system set ${name} = '2MB'`)
  }
  await made.close()
  if (kind === 'migrated') {
    const database = await openPglite(folder)
    await migrate(database, new URL('migrations/', schema))
    await database.close()
  }
  const engine = await PGlite.create(folder)
  // Nobody makes a database from them, and they are half of what each test would load.
  for (const name of ['template0', 'template1']) {
    await engine.exec(`alter database ${name} with is_template false`)
    await engine.exec(`drop database ${name}`)
  }
  await engine.exec('alter system reset all')
  await engine.exec('checkpoint')
  const archive = await engine.dumpDataDir('none')
  await engine.close()
  await writeFile(join(target, 'pgdata.tar'), Buffer.from(await archive.arrayBuffer()))
}

/**
 * Changes with whatever an image is made of: the engine, this file, the migrations and functions.
 */
const computeVersion = async (kind: PgliteImage): Promise<string> => {
  const engine = new URL('../package.json', import.meta.resolve('@electric-sql/pglite'))
  const sources = [fileURLToPath(engine), fileURLToPath(import.meta.url)]
  if (kind === 'migrated') sources.push(...(await filesUnder(fileURLToPath(schema))))
  const hash = createHash('sha256')
  for (const source of sources) hash.update(await readFile(source))
  return hash.digest('hex').slice(0, 16)
}

const filesUnder = async (folder: string): Promise<string[]> => {
  const names = await readdir(folder, { recursive: true })
  return names
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => join(folder, name))
}
