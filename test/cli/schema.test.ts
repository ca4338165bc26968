import assert from 'node:assert/strict'
import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Database } from '../../src/storage/engine/database.ts'
import { findNewestMigration } from '../../src/storage/engine/installation.ts'
import { migrate } from '../../src/storage/engine/migrate.ts'
import { openLeftDatabase } from '../support/builders.ts'
import { freePorts } from '../support/free-ports.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, makePreparedFolder } from '../support/process.ts'
import { pool, sql } from '../support/service.ts'
import { launchPinfold, pinfold } from './run-pinfold.ts'

/**
 * The schema of a database is changed by a start and by `pinfold migrate`, and by no other command.
 */

const migrations = new URL('../../database/migrations/', import.meta.url)
const [last = ''] = (await readdir(migrations)).sort().reverse()
const postgres = await openPostgres()

type Env = Record<string, string>

/** A database of an older version: where it is, its last migration, and a look at it. */
interface Older {
  readonly env: Env
  readonly newest: Awaited<ReturnType<typeof findNewestMigration>>
  readonly look: <Seen>(work: (database: Database) => Promise<Seen>) => Promise<Seen>
}

/** The migrations of the version before this one. */
async function olderMigrations(): Promise<URL> {
  const folder = await makeFolder()
  await cp(fileURLToPath(migrations), folder, { recursive: true })
  await rm(join(folder, last))
  return pathToFileURL(`${folder}/`)
}

/**
 * The data directory that each test gets a copy of: the older version's migrations take seconds.
 */
let embedded: Promise<Pick<Older, 'newest'> & { dataDir: string }> | undefined

async function makeEmbedded() {
  const older = await olderMigrations()
  let newest: Older['newest'] | undefined
  const dataDir = await makePreparedFolder(async (database) => {
    await migrate(database, older)
    newest = await findNewestMigration(database)
  })
  assert.ok(newest !== undefined)
  return { dataDir, newest }
}

async function openEmbedded(): Promise<Older> {
  embedded ??= makeEmbedded()
  const { dataDir: prepared, newest } = await embedded
  const dataDir = await makeFolder()
  await cp(prepared, dataDir, { recursive: true })
  const [port, privatePort] = await freePorts()
  return {
    env: { DATA_DIR: dataDir, PORT: String(port), PRIVATE_PORT: String(privatePort) },
    newest,
    async look(work) {
      const database = await openLeftDatabase(dataDir)
      try {
        return await work(database)
      } finally {
        await database.close()
      }
    },
  }
}

async function openServer(): Promise<Older> {
  const { url } = await postgres.createDatabase()
  const look: Older['look'] = async (work) => {
    const database = pool(url, 1)
    try {
      return await work(database)
    } finally {
      await database.close()
    }
  }
  const older = await olderMigrations()
  await look((database) => migrate(database, older))
  // Whatever listens, it is no server of this database.
  const env = { DATABASE_URL: url, SANDBOX: 'true', PRIVATE_PORT: '9', PORT: '7' }
  const newest = await look(findNewestMigration)
  return { env: { ...env, DATA_DIR: await makeFolder() }, look, newest }
}

for (const [engine, open, skip] of [
  ['PGlite', openEmbedded, false],
  ['PostgreSQL', openServer, postgres.leftOut],
] as const) {
  suite(`on ${engine}`, { skip }, () => {
    test('no command but migrate changes the schema of a database that an older version runs on', async () => {
      const { env, look, newest } = await open()
      for (const words of [['clients', 'list'], ['demo']]) {
        // The demo is a program of its own.
        const run = words[0] === 'demo' ? launchPinfold : pinfold
        const { code, stderr } = await run(env, ...words)
        assert.equal(code, words[0] === 'demo' ? 1 : 3, stderr)
        assert.match(stderr, /pinfold migrate/, words.join(' '))
      }
      assert.equal(await look(findNewestMigration), newest)
      const applied = await pinfold(env, 'migrate')
      assert.deepEqual(
        [applied.code, applied.stdout.trim()],
        [0, `Applied ${last}.`],
        applied.stderr,
      )
      const again = await pinfold(env, 'migrate', '--json')
      assert.deepEqual(JSON.parse(again.stdout), { applied: [] })
      const listed = await pinfold(env, 'clients', 'list', '--json')
      assert.equal(listed.code, 0, listed.stderr)
    })

    test('no command does anything to a database that a newer version wrote', async () => {
      const { env, look } = await open()
      const text = `insert into migration (migration_number, file_name) values (9000, 'later.sql')`
      await look((database) => sql(database, text))
      for (const words of [['keys', 'list'], ['migrate']]) {
        const { code, stderr } = await pinfold(env, ...words)
        assert.equal(code, 3, stderr)
        assert.match(stderr, /at migration 9000.*commands of the running version/, words.join(' '))
      }
      const count = await look((database) => sql(database, 'select from migration'))
      assert.equal(count.length, (await readdir(migrations)).length)
    })
  })
}

test('a command makes no database where there is none; migrate does', async () => {
  const DATA_DIR = await makeFolder()
  const { code, stderr } = await pinfold({ DATA_DIR }, 'clients', 'list')
  assert.deepEqual(
    [code, /has no database yet\. Run pinfold start/.test(stderr)],
    [3, true],
    stderr,
  )
  assert.deepEqual(await readdir(DATA_DIR), [])
  const made = await pinfold({ DATA_DIR }, 'migrate', '--json')
  assert.equal(JSON.parse(made.stdout).applied.at(-1), last)
})
