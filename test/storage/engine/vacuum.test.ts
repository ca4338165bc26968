import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findLastVacuum, vacuumTables } from '../../../src/storage/engine/vacuum.ts'
import { openTestPglite } from '../../support/pglite.ts'
import { sql } from '../../support/service.ts'

const never = new AbortController().signal

test('of an embedded database the tables with many dead rows are vacuumed, and no others', async () => {
  const database = await openTestPglite()
  await database.script(`create table busy (a integer); create table "Calm one" (a integer);
    insert into busy select generate_series(1, 171); insert into "Calm one" values (1)`)
  assert.equal(await findLastVacuum(database), null)
  for (let time = 0; time < 20; time += 1) await sql(database, 'update busy set a = a + 1')
  // The engine publishes its counts of rows once a second unless it is asked.
  await sql(database, 'select pg_stat_force_next_flush() as flushed')
  const others = [sql(database, 'select 1 as one'), vacuumTables(database, never)]
  assert.deepEqual((await Promise.all(others))[1], ['busy'])
})

test('a table that is updated for long stays small', async () => {
  const database = await openTestPglite()
  await database.script(`create table queue (a integer, filler text);
    create index on queue (a); insert into queue select n, repeat('x', 100) from generate_series(1, 171) n`)
  for (let time = 0; time < 300; time += 1) {
    await sql(database, 'update queue set a = a + 1')
    if (time % 20 === 19) await vacuumTables(database, never)
  }
  const [row] = await sql<{ bytes: number }>(
    database,
    `select pg_total_relation_size('queue')::integer as bytes`,
  )
  assert.ok((row?.bytes ?? Infinity) < 3 * 2 ** 20, String(row?.bytes))
})
