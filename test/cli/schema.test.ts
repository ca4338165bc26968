import assert from 'node:assert/strict'
import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Database } from '../../src/storage/engine/database.ts'
import { findNewestMigration } from '../../src/storage/engine/installation.ts'
import { migrate } from '../../src/storage/engine/migrate.ts'
import { openPglite } from '../../src/storage/engine/pglite.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, makePreparedFolder } from '../support/process.ts'
import { pool, sql } from '../support/service.ts'
import { launchPinfold, pinfold } from './run-pinfold.ts'

/** The schema of a database is changed by a start and by `pinfold migrate`, and by no other command. */

const migrations = new URL('../../migrations/', import.meta.url)
const [last = ''] = (await readdir(migrations)).sort().reverse()
const postgres = await openPostgres()

type Env = Record<string, string>

/** A database of an older version: where it is, and a look at it. */
interface Older {
  readonly env: Env
  readonly look: <Seen>(work: (database: Database) => Promise<Seen>) => Promise<Seen>
}

/** The migrations of the version before this one. */
async function olderMigrations(): Promise<URL> {
  const folder = await makeFolder()
  await cp(fileURLToPath(migrations), folder, { recursive: true })
  await rm(join(folder, last))
  return pathToFileURL(`${folder}/`)
}

async function openEmbedded(): Promise<Older> {
  const older = await olderMigrations()
  const dataDir = await makePreparedFolder((database) => migrate(database, older))
  return {
    env: { DATA_DIR: dataDir },
    async look(work) {
      const database = await openPglite(join(dataDir, 'pgdata'))
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
  const env = { DATABASE_URL: url, SANDBOX: 'true', PRIVATE_PORT: '9', PORT: '9' }
  return { env: { ...env, DATA_DIR: await makeFolder() }, look }
}

for (const [engine, open, skip] of [
  ['PGlite', openEmbedded, false],
  ['PostgreSQL', openServer, postgres.leftOut],
] as const) {
  suite(`on ${engine}`, { skip }, () => {
    test('no command but migrate changes the schema of a database that an older version runs on', async () => {
      const { env, look } = await open()
      const before = await look(findNewestMigration)
      for (const words of [['clients', 'list'], ['demo']]) {
        // The demo is a program of its own.
        const run = words[0] === 'demo' ? launchPinfold : pinfold
        const { code, stderr } = await run(env, ...words)
        assert.equal(code, words[0] === 'demo' ? 1 : 3, stderr)
        assert.match(stderr, /pinfold migrate/, words.join(' '))
      }
      assert.equal(await look(findNewestMigration), before)
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
        assert.match(
          stderr,
          /at migration 9000.*commands of the version that runs/,
          words.join(' '),
        )
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
    [code, /no database in .* pinfold start makes it/.test(stderr)],
    [3, true],
    stderr,
  )
  assert.deepEqual(await readdir(DATA_DIR), [])
  const made = await pinfold({ DATA_DIR }, 'migrate', '--json')
  assert.equal(JSON.parse(made.stdout).applied.at(-1), last)
})
