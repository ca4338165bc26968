import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Database } from '../../../src/storage/engine/database.ts'
import { readFunctionFiles } from '../../../src/storage/engine/functions.ts'
import { migrate, requireSchema } from '../../../src/storage/engine/migrate.ts'
import { databaseEngines } from '../../support/engines.ts'
import { sql } from '../../support/service.ts'

const migrations = new URL('../../../database/migrations/', import.meta.url)
const files = await readFunctionFiles()

const sourceOf = async (database: Database): Promise<string | undefined> => {
  const rows = await sql<{ prosrc: string }>(
    database,
    `select prosrc from pg_proc where proname = 'record_event'`,
  )
  return rows[0]?.prosrc
}

/** Makes a function another one than its file says. */
const replaceFunction = (database: Database): Promise<void> =>
  database.script(`
    create or replace function record_event(
      p_public_token text, p_sequence integer, p_client_id text, p_type text, p_request_id text,
      p_details text, p_note bytea, p_operator_id text
    ) returns void language plpgsql as 'begin raise ''another text''; end';
    update installed_function set content_hash = 'another'
    where file_name = 'events/record-event.sql'`)

test('each file states the rule of one function, which has the name of the file', () => {
  for (const { fileName, functionName, text } of files) {
    assert.match(text, /^-- [A-Z]/, `${fileName} begins with a comment`)
    const made = [...text.matchAll(/create or replace function (\w+)\(/g)].map(([, name]) => name)
    assert.deepEqual(made, [functionName], fileName)
  }
  assert.equal(new Set(files.map(({ functionName }) => functionName)).size, files.length)
})

for (const { name, open, skip } of databaseEngines) {
  suite(`the functions of a database, on ${name}`, { skip }, () => {
    test('each is there, once, and its parameters cannot be taken for columns', async () => {
      const database = await open()
      const rows = await sql<{ name: string; parameters: string[] | null }>(
        database,
        `select proname as "name", proargnames[1 : pronargs] as "parameters" from pg_proc
         where pronamespace = current_schema()::regnamespace
           and proname = any (string_to_array($1, ','))
         order by proname`,
        [files.map(({ functionName }) => functionName).join(',')],
      )
      assert.deepEqual(
        rows.map(({ name }) => name),
        files.map(({ functionName }) => functionName).sort(),
      )
      for (const { name, parameters } of rows) {
        for (const parameter of parameters ?? []) assert.match(parameter, /^p_/, name)
      }
    })

    test('a function whose file has another text than was installed is installed anew', async () => {
      const database = await open()
      const source = await sourceOf(database)
      await replaceFunction(database)
      assert.notEqual(await sourceOf(database), source)
      await migrate(database, migrations)
      assert.equal(await sourceOf(database), source)
    })

    test('the function of a newer program stays, and what it lacks is installed', async () => {
      const database = await open()
      await replaceFunction(database)
      const source = await sourceOf(database)
      await sql(
        database,
        `insert into migration (migration_number, file_name, works_from) values (9000, '9000_newer.sql', 1)`,
      )
      await database.script(`drop function lock_card;
        delete from installed_function where file_name = 'cards/lock-card.sql'`)
      await migrate(database, migrations)
      assert.equal(await sourceOf(database), source)
      assert.equal(
        (await sql(database, `select from pg_proc where proname = 'lock_card'`)).length,
        1,
      )
    })

    test('commands refuse a database that lacks a function, and name it', async () => {
      const database = await open()
      await requireSchema(database, migrations)
      await sql(database, `delete from installed_function where file_name = 'cards/lock-card.sql'`)
      await assert.rejects(
        requireSchema(database, migrations),
        /lacks the functions cards\/lock-card\.sql\. .*pinfold migrate/,
      )
    })
  })
}
