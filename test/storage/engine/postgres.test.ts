import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { Problem } from '../../../src/domain/problem.ts'
import {
  type Connection,
  type Database,
  LockTimeout,
} from '../../../src/storage/engine/database.ts'
import { openPostgres } from '../../support/postgres.ts'
import { pool, sql } from '../../support/service.ts'
import type { TestDatabase } from '../../support/test-databases.ts'

const postgres = await openPostgres()
const skip = postgres.leftOut

let testDatabase: TestDatabase
let database: Database

before(async () => {
  if (postgres.leftOut) return
  testDatabase = await postgres.createDatabase()
  database = pool(testDatabase.url, 3)
  await database.script('create table act (name text not null)')
})
after(async () => {
  if (postgres.leftOut) return
  await database.close()
  await testDatabase.close()
})

const unavailable = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'unavailable'

/** Ends every session of the test's database but the one that asks. */
const endSessions = async (): Promise<void> => {
  const client = new pg.Client({ connectionString: testDatabase.url })
  await client.connect()
  await client.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`)
  await client.end()
}

const names = async (): Promise<unknown[]> =>
  (await sql(database, 'select name from act order by name')).map(({ name }) => name)

test('a transaction commits when its work resolves, and rolls back when its work throws', {
  skip,
}, async () => {
  await database.transaction((tx) => sql(tx, `insert into act values ('kept')`))
  const failing = database.transaction(async (tx) => {
    await sql(tx, `insert into act values ('undone')`)
    throw new Error('the work failed')
  })
  await assert.rejects(failing, /the work failed/)
  assert.deepEqual(await names(), ['kept'])
})

test('a connection that breaks in the middle of a transaction is a 503 and ends nothing else', {
  skip,
}, async () => {
  const workWhileBroken = async (tx: Connection) => {
    await sql(tx, `insert into act values ('lost')`)
    await endSessions()
    await sql(tx, 'select 1 as one')
  }
  for (let time = 0; time < 3; time += 1) {
    await assert.rejects(database.transaction(workWhileBroken), unavailable)
  }
  assert.deepEqual(await names(), ['kept'])
})

test('a connection that breaks while the work waits for something else is a 503, too', {
  skip,
}, async () => {
  const breaking = database.transaction(async (tx) => {
    await sql(tx, 'select 1 as one')
    await endSessions()
    // The break arrives while no statement runs.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  })
  await assert.rejects(breaking, unavailable)
  assert.deepEqual(await sql(database, 'select 1 as one'), [{ one: 1 }])
})

test('a server that takes no connections is a 503, whatever its reason', { skip }, async () => {
  const wrongPassword = new URL(testDatabase.url)
  wrongPassword.username = 'nobody'
  const elsewhere = new URL(testDatabase.url)
  elsewhere.pathname = '/no_such_database'
  const deaf = new URL(testDatabase.url)
  deaf.hostname = '127.0.0.1'
  deaf.port = '1'
  for (const url of [wrongPassword, elsewhere, deaf]) {
    const away = pool(url.href, 1)
    await assert.rejects(sql(away, 'select 1 as one'), unavailable)
    await assert.rejects(
      away.transaction(async () => null),
      unavailable,
    )
    await away.close()
  }
})

test('a fault of a statement stays what it is', { skip }, async () => {
  await assert.rejects(sql(database, 'insert into act values (null)'), { code: '23502' })
  assert.deepEqual(await sql(database, 'select 1 as one'), [{ one: 1 }])
})

test('a row that another transaction holds is waited for, and then given up', {
  skip,
}, async () => {
  await sql(database, `insert into act values ('held')`)
  const update = `update act set name = 'held' where name = 'held'`
  await database.transaction(async (holder) => {
    await sql(holder, update)
    const waiting = database.transaction((tx) => sql(tx, update))
    await assert.rejects(waiting, (error) => error instanceof LockTimeout)
  })
})

test('transactions in a deadlock all commit in the end, each once', {
  skip,
}, async () => {
  await sql(database, `insert into act values ('left'), ('right')`)
  let held = 0
  let release = () => {}
  const bothHold = new Promise<void>((resolve) => {
    release = resolve
  })
  const work = (first: string, second: string) =>
    database.transaction(async (tx) => {
      await sql(tx, 'update act set name = name where name = $1', [first])
      held += 1
      if (held === 2) release()
      await bothHold
      await sql(tx, 'update act set name = name where name = $1', [second])
      await sql(tx, `insert into act values ('went ' || $1)`, [first])
    })
  await Promise.all([work('left', 'right'), work('right', 'left')])
  // One that begins anew may be quicker than the other wakes: then one of them begins once more.
  assert.ok(held === 3 || held === 4, `one was undone and began anew: ${held}`)
  const went = (await names()).filter((name) => String(name).startsWith('went'))
  assert.deepEqual(went, ['went left', 'went right'])
})

test('a transaction that the server rolls back again and again is answered with 503', {
  skip,
}, async () => {
  let attempts = 0
  const work = database.transaction(async (tx) => {
    attempts += 1
    await sql(tx, `do $$ begin raise exception using errcode = '40001'; end $$`)
  })
  await assert.rejects(work, unavailable)
  assert.equal(attempts, 3)
})

test('dates stay as they are written, whatever the time zone of this process', {
  skip,
}, async () => {
  const [row] = await sql(database, `select date '2026-03-01' as "day"`)
  assert.equal(row?.day, '2026-03-01')
})

test('closing a pool twice is closing it once', { skip }, async () => {
  const closed = pool(testDatabase.url, 1)
  await sql(closed, 'select 1 as one')
  await closed.close()
  await closed.close()
})
