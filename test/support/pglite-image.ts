import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import { migrate } from '../../src/storage/engine/migrate.ts'
import { openPglite } from '../../src/storage/engine/pglite.ts'
import { cacheFolder } from './folders.ts'

/**
 * The files of embedded databases that tests begin with. Making them takes PGlite four seconds and
 * more, opening a copy half of one: so they are made once and kept.
 */

const migrations = new URL('../../migrations/', import.meta.url)

/** A small write-ahead log; the default's 16 MB are most of what would be copied. */
const initDbStartParams = ['--wal-segsize=1']

/** What PGlite takes as `loadDataDir`, for each kind of beginning. */
const makers = {
  empty: async () => {
    const engine = await PGlite.create({ initDbStartParams })
    return engine.dumpDataDir('none').finally(() => engine.close())
  },
  migrated: async () => {
    const database = await openPglite(undefined, await pgliteImage('empty'))
    try {
      await migrate(database, migrations)
      // Nobody makes further databases in it: two thirds of the files are those of the templates.
      for (const name of ['template0', 'template1']) {
        await database.script(
          `update pg_database set datistemplate = false, datallowconn = true where datname = '${name}'`,
        )
        await database.script(`drop database ${name}`)
      }
      return await database.dump()
    } finally {
      await database.close()
    }
  },
} as const

export type PgliteImage = keyof typeof makers

const images = new Map<PgliteImage, Promise<Blob>>()

/** The same for every caller in this process. */
export const pgliteImage = (kind: PgliteImage): Promise<Blob> => {
  const image = images.get(kind) ?? cachedImage(kind)
  images.set(kind, image)
  return image
}

const cachedImage = async (kind: PgliteImage): Promise<Blob> => {
  const folder = await cacheFolder('pglite')
  const name = `${kind}-${await versionOf(kind)}.tar`
  const cached = await readFile(join(folder, name)).catch(() => undefined)
  if (cached) return new Blob([cached])
  const made = await makers[kind]()
  for (const other of await readdir(folder)) {
    if (other.startsWith(`${kind}-`)) await rm(join(folder, other), { force: true })
  }
  // Another process may have made the same one: a rename replaces it whole, and does no harm.
  const draft = join(folder, `draft-${randomBytes(6).toString('hex')}`)
  await writeFile(draft, new Uint8Array(await made.arrayBuffer()))
  await rename(draft, join(folder, name))
  return made
}

/** Changes with whatever an image is made of: the engine, this file, the migrations. */
const versionOf = async (kind: PgliteImage): Promise<string> => {
  const entry = fileURLToPath(import.meta.resolve('@electric-sql/pglite'))
  const hash = createHash('sha256')
  hash.update(await readFile(join(dirname(entry), '..', 'package.json')))
  hash.update(await readFile(new URL(import.meta.url)))
  if (kind === 'migrated') {
    const names = (await readdir(migrations)).sort()
    for (const name of names) hash.update(await readFile(new URL(name, migrations)))
  }
  return hash.digest('hex').slice(0, 16)
}
