import { createHash, randomBytes } from 'node:crypto'
import { access, cp, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MemoryFS, PGlite } from '@electric-sql/pglite'
import { readFunctionFiles } from '../../src/storage/engine/functions.ts'
import { migrate } from '../../src/storage/engine/migrate.ts'
import { openPglite } from '../../src/storage/engine/pglite.ts'
import { cacheFolder } from './folders.ts'

/**
 * The files of embedded databases that tests begin with, as a database leaves them that was closed. Making
 * them takes PGlite four seconds and more: so they are made once, kept, and put into memory for each.
 */

const migrations = new URL('../../database/migrations/', import.meta.url)

/** A small write-ahead log; the default's 16 MB are most of what would be copied. */
const initDbStartParams = ['--wal-segsize=1']

/** What makes each kind of beginning in a folder. */
const makers = {
  empty: async (folder: string): Promise<void> => {
    const engine = await PGlite.create(folder, { initDbStartParams })
    await engine.close()
  },
  migrated: async (folder: string): Promise<void> => {
    await cp(await pgliteImage('empty'), folder, { recursive: true })
    const database = await openPglite(folder)
    try {
      await migrate(database, migrations)
      // Nobody makes further databases in it: two thirds of the files are those of the templates.
      for (const name of ['template0', 'template1']) {
        await database.script(
          `update pg_database set datistemplate = false, datallowconn = true where datname = '${name}'`,
        )
        await database.script(`drop database ${name}`)
      }
    } finally {
      await database.close()
    }
  },
} as const

export type PgliteImage = keyof typeof makers

const images = new Map<PgliteImage, Promise<string>>()

/** The folder with the files, to be copied. The same for every caller in this process. */
export const pgliteImage = (kind: PgliteImage): Promise<string> => {
  const image = images.get(kind) ?? cachedImage(kind)
  images.set(kind, image)
  return image
}

const cachedImage = async (kind: PgliteImage): Promise<string> => {
  const cache = await cacheFolder('pglite')
  const folder = join(cache, `${kind}-${await versionOf(kind)}`)
  if (await isThere(folder)) return folder
  for (const other of await readdir(cache)) {
    if (other.startsWith(`${kind}-`)) await rm(join(cache, other), { recursive: true, force: true })
  }
  const draft = join(cache, `draft-${randomBytes(6).toString('hex')}`)
  await mkdir(draft)
  await makers[kind](draft)
  // Another process may have made the same one meanwhile.
  await rename(draft, folder).catch(async (error: unknown) => {
    await rm(draft, { recursive: true, force: true })
    if (!(await isThere(folder))) throw error
  })
  return folder
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** Changes with whatever an image is made of: the engine, this file, the migrations, the functions. */
const versionOf = async (kind: PgliteImage): Promise<string> => {
  const entry = fileURLToPath(import.meta.resolve('@electric-sql/pglite'))
  const hash = createHash('sha256')
  hash.update(await readFile(join(dirname(entry), '..', 'package.json')))
  hash.update(await readFile(new URL(import.meta.url)))
  if (kind === 'migrated') {
    const names = (await readdir(migrations)).sort()
    for (const name of names) hash.update(await readFile(new URL(name, migrations)))
    for (const { text } of await readFunctionFiles()) hash.update(text)
  }
  return hash.digest('hex').slice(0, 16)
}

/** What a folder has in it: the bytes of a file, or what another folder has. */
type Contents = ReadonlyMap<string, Uint8Array | Contents>

const contentsOf = async (folder: string): Promise<Contents> => {
  const entries = await readdir(folder, { withFileTypes: true })
  return new Map(
    await Promise.all(
      entries.map(async (entry): Promise<[string, Uint8Array | Contents]> => {
        const path = join(folder, entry.name)
        return [entry.name, entry.isDirectory() ? await contentsOf(path) : await readFile(path)]
      }),
    ),
  )
}

const contents = new Map<PgliteImage, Promise<Contents>>()

/** The files of an image, in memory, for one database. */
export const imageInMemory = async (kind: PgliteImage): Promise<MemoryFS> => {
  const known = contents.get(kind) ?? pgliteImage(kind).then(contentsOf)
  contents.set(kind, known)
  return new LoadedFiles(await known)
}

type Opened = Awaited<ReturnType<MemoryFS['init']>>

/** What is needed of a folder in the engine's memory (Emscripten's MEMFS). */
interface MemoryFolder {
  readonly node_ops: {
    mknod(parent: MemoryFolder, name: string, mode: number, device: number): MemoryFolder
  }
}

const dataFolder = '/pglite/data'
const folderMode = 0o040700
const fileMode = 0o100600

/** Puts files straight into their folders: the engine's own reader of archives asks for each path four times. */
class LoadedFiles extends MemoryFS {
  readonly #contents: Contents

  constructor(given: Contents) {
    super()
    this.#contents = given
  }

  override async init(engine: PGlite, options: Opened['emscriptenOpts']): Promise<Opened> {
    const { emscriptenOpts } = await super.init(engine, options)
    const { preRun = [] } = emscriptenOpts
    const load = ({
      FS,
    }: {
      FS: { mkdirTree(path: string): void; lookupPath(path: string): object }
    }) => {
      FS.mkdirTree(dataFolder)
      const { node } = FS.lookupPath(dataFolder) as { node: MemoryFolder }
      putInto(node, this.#contents)
    }
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...preRun, load] } }
  }
}

const putInto = (folder: MemoryFolder, all: Contents): void => {
  for (const [name, each] of all) {
    if (each instanceof Map) {
      putInto(folder.node_ops.mknod(folder, name, folderMode, 0), each)
    } else {
      const file = folder.node_ops.mknod(folder, name, fileMode, 0)
      // A copy of its own: the database writes into it.
      const bytes = new Uint8Array(each as Uint8Array)
      Object.assign(file, { contents: bytes, usedBytes: bytes.length })
    }
  }
}
