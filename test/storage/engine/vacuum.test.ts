import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findUpkeep, shortenLog, vacuumTables } from '../../../src/storage/engine/vacuum.ts'
import { openTestPglite } from '../../support/pglite.ts'
import { sql } from '../../support/service.ts'

const never = new AbortController().signal

test('an embedded database vacuums and analyzes the tables with many dead rows, and no others', async () => {
  const database = await openTestPglite()
  await database.script(`create table busy (a integer); create table "Calm one" (a integer);
    insert into busy select generate_series(1, 6000); insert into "Calm one" values (1)`)
  assert.equal((await findUpkeep(database))?.lastVacuumAt, null)
  // Rows that an update leaves dead may be cleared by the next one: these are not.
  await sql(database, 'delete from busy where a > 100')
  // The engine publishes its counts of rows once a second unless it is asked.
  await sql(database, 'select pg_stat_force_next_flush() as flushed')
  const untidy = await findUpkeep(database)
  assert.deepEqual([untidy?.tableName, untidy?.deadRows, untidy?.liveRows], ['busy', 5_900, 100])
  const others = [sql(database, 'select 1 as one'), vacuumTables(database, never)]
  assert.deepEqual((await Promise.all(others))[1], ['busy'])
  const tidied = await sql(
    database,
    `select relname as "table" from pg_stat_user_tables
     where last_vacuum is not null and last_analyze is not null`,
  )
  assert.deepEqual(tidied, [{ table: 'busy' }])
  assert.ok((await findUpkeep(database))?.lastVacuumAt instanceof Date)
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

test('the log of an embedded database that is written for long stays within bounds', async () => {
  const database = await openTestPglite()
  let checkpoints = 0
  for (let segment = 0; segment < 60; segment += 1) {
    // The rest of a segment, which is of 1 MiB here, is left empty, so that little is written for
    // it.
    await sql(database, `select pg_logical_emit_message(true, 'test', 'x') as position`)
    await sql(database, 'select pg_switch_wal() as position')
    if (await shortenLog(database, 8 * 2 ** 20)) checkpoints += 1
  }
  assert.ok(checkpoints >= 6 && checkpoints <= 8, String(checkpoints))
  const [log] = await sql<{ bytes: number }>(
    database,
    'select sum(size)::float8 as bytes from pg_ls_waldir()',
  )
  assert.ok((log?.bytes ?? Infinity) <= 32 * 2 ** 20, String(log?.bytes))
})
