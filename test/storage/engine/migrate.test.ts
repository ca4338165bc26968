import assert from 'node:assert/strict'
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Database } from '../../../src/storage/engine/database.ts'
import { migrate, requireSchema } from '../../../src/storage/engine/migrate.ts'
import { openTestPglite } from '../../support/pglite.ts'
import { openPostgres } from '../../support/postgres.ts'
import { pool, sql } from '../../support/service.ts'

const postgres = await openPostgres()
const skip = postgres.leftOut
const migrations = new URL('../../../database/migrations/', import.meta.url)
const fileNames = (await readdir(migrations)).filter((name) => name.endsWith('.sql')).sort()

const folder = await mkdtemp(join(tmpdir(), 'pinfold-migrations-'))
after(() => rm(folder, { recursive: true, force: true }))

/** The program's migrations and more. */
const withMigration = async (fileName: string, text: string): Promise<URL> => {
  const copy = await mkdtemp(join(folder, 'set-'))
  await cp(migrations, copy, { recursive: true })
  await writeFile(join(copy, fileName), text)
  return new URL(`${pathToFileURL(copy)}/`)
}

const tables = async (database: Database): Promise<number> => {
  const found = await sql(database, `select from pg_class where relname in ('card', 'half')`)
  return found.length
}

test('every migration is applied in its order, and the second time there is nothing to do', async () => {
  const database = await openTestPglite()
  assert.deepEqual(await migrate(database, migrations), fileNames)
  assert.deepEqual(await migrate(database, migrations), [])
})

test('a failed migration leaves nothing behind', async () => {
  const database = await openTestPglite()
  const failing = await withMigration(
    '9000_fails.sql',
    'create table half (a text); select nothing',
  )
  await assert.rejects(migrate(database, failing))
  assert.equal(await tables(database), 0)
  assert.deepEqual(await migrate(database, migrations), fileNames)
})

test('a migration is sent command by command, whatever its comments end with', async () => {
  const database = await openTestPglite({ image: 'migrated' })
  const text = `create table half (
  -- A letter;
  a text
);
-- Two commands;
alter table half add column b text;
`
  assert.deepEqual(await migrate(database, await withMigration('9000_commented.sql', text)), [
    '9000_commented.sql',
  ])
  assert.equal(await tables(database), 2)
})

test('a database that a newer program wrote is refused and left as it is', async () => {
  const database = await openTestPglite({ image: 'migrated' })
  await migrate(database, await withMigration('9000_newer.sql', 'create table half (a text)'))
  await assert.rejects(migrate(database, migrations), /start a newer program/)
  assert.equal(await tables(database), 2)
})

test('a database that a newer program expanded is worked on, and neither refused nor changed', async () => {
  const database = await openTestPglite({ image: 'migrated' })
  const [last = ''] = fileNames.toReversed()
  const said = `-- Works with programs from migration ${last.slice(0, 4)} on.\n`
  const newer = await withMigration('9000_expands.sql', `${said}create table half (a text);`)
  await migrate(database, newer)
  assert.deepEqual(await migrate(database, migrations), [])
  await requireSchema(database, migrations)
  // The one that contracts, later, takes it from those that know none of both.
  await writeFile(
    new URL('9001_contracts.sql', newer),
    '-- Works with programs from migration 9000 on.',
  )
  await migrate(database, newer)
  await assert.rejects(migrate(database, migrations), /start a newer program/)
  await assert.rejects(requireSchema(database, migrations), /start a newer program/)
  await rm(new URL('9001_contracts.sql', newer))
  assert.deepEqual(await migrate(database, newer), [])
})

test('a database from before the first release is refused, with what to do, and left as it is', async () => {
  const database = await openTestPglite({ image: 'migrated' })
  await sql(
    database,
    `update migration set file_name = '0001_clients.sql' where migration_number = 1`,
  )
  await sql(
    database,
    `insert into migration (migration_number, file_name) values (9000, '9000_disabled_webhooks.sql')`,
  )
  const refusal = /from before the first release.*Create a new database.*moving-over/
  await assert.rejects(migrate(database, migrations), refusal)
  await assert.rejects(requireSchema(database, migrations), refusal)
  assert.equal((await sql(database, 'select from migration')).length, fileNames.length + 1)
})

test('processes that migrate one database at once apply each migration once', {
  skip,
}, async () => {
  const { close, url } = await postgres.createDatabase()
  const databases = Array.from({ length: 4 }, () => pool(url, 2))
  const applied = await Promise.all(databases.map((database) => migrate(database, migrations)))
  assert.deepEqual(applied.flat(), fileNames)
  await Promise.all(databases.map((database) => database.close()))
  await close()
})

test('a migration of another process is waited for, longer than a request would wait', {
  skip,
}, async () => {
  const { close, url } = await postgres.createDatabase()
  const [first, second] = [pool(url, 2), pool(url, 2)]
  const slow = await withMigration('9000_slow.sql', 'select pg_sleep(2.5)')
  const applied = await Promise.all([migrate(first, slow), migrate(second, slow)])
  assert.equal(applied.flat().length, fileNames.length + 1)
  await Promise.all([first.close(), second.close()])
  await close()
})
