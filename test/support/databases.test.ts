import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { type Database, statement } from '../../src/storage/engine/database.ts'
import { openPglite } from '../../src/storage/engine/pglite.ts'
import { openTestPglite } from './pglite.ts'
import { openPostgres } from './postgres.ts'

const insertCard = statement('insert_card', 'insert into card (token) values ($1)')
const countCards = statement('count_cards', 'select count(*)::int as cards from card')

const createCard = (database: Database): Promise<void> =>
  database.script('create table card (token text)')

test('each database is fresh, however many are open', async (t) => {
  const one = await openTestPglite({ prepare: createCard })
  const two = await openTestPglite({ prepare: createCard })
  t.after(() => Promise.all([one.close(), two.close()]))
  await one.query(insertCard, ['first'])
  assert.deepEqual(await one.query(countCards), [{ cards: 1 }])
  assert.deepEqual(await two.query(countCards), [{ cards: 0 }])
})

test('a database in a folder can be opened again by the product', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'pinfold-pglite-test-'))
  t.after(() => rm(folder, { recursive: true }))
  const database = await openTestPglite({ folder, prepare: createCard })
  await database.query(insertCard, ['kept'])
  await database.close()
  const again = await openPglite(folder)
  assert.deepEqual(await again.query(countCards), [{ cards: 1 }])
  await again.close()
})

test('closing twice is closing once', async () => {
  const database = await openTestPglite()
  await database.close()
  await database.close()
})

test('a test file that forgets to close still ends', async () => {
  const module = new URL('pglite.ts', import.meta.url)
  const script = `
    import { test } from 'node:test'
    import { openTestPglite } from '${module}'
    test('forgets', async () => { await openTestPglite() })`
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const args = ['--input-type=module', '-e', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 30_000 })
  assert.match(stdout, /pass 1/)
})

const postgres = await openPostgres()
const skip = postgres.leftOut

type Row = Record<string, unknown>

const query = async (url: string, text: string): Promise<Row[]> => {
  const client = new pg.Client({ connectionString: url })
  // A server may go between two questions; what it meets shows in the next one.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

/** A process that opens a server of its own, and prints where it is. */
const openElsewhere = async (
  after: 'wait' | 'forget',
): Promise<{ child: ChildProcess; url: string }> => {
  const module = new URL('postgres.ts', import.meta.url)
  const script = `
    import { openPostgres } from '${module}'
    console.log((await openPostgres()).url)
    if ('${after}' === 'wait') setInterval(() => {}, 1000)`
  const { TEST_POSTGRES_URL: _, ...env } = process.env
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  })
  const [url] = await once(createInterface(child.stdout), 'line')
  return { child, url }
}

const withinMs = async (limitMs: number, isSo: () => Promise<boolean>): Promise<boolean> => {
  for (const endMs = Date.now() + limitMs; Date.now() < endMs; await sleep(50)) {
    if (await isSo()) return true
  }
  return isSo()
}

const refusesConnections = (url: string): Promise<boolean> =>
  query(url, 'select').then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
  )

test('a created database is empty, and gone once closed', { skip }, async () => {
  const database = await postgres.createDatabase()
  assert.deepEqual(
    await query(database.url, `select from pg_class where relnamespace = 'public'::regnamespace`),
    [],
  )
  await database.close()
  await assert.rejects(query(database.url, 'select'), { code: '3D000' })
})

test('a database with sessions on it can be closed, twice even', { skip }, async () => {
  const database = await postgres.createDatabase()
  const session = new pg.Client({ connectionString: database.url })
  session.on('error', () => {})
  await session.connect()
  await database.close()
  await database.close()
  await session.end()
})

test('a template is prepared once, however many ask at once', { skip }, async () => {
  let prepared = 0
  const key = `once ${Date.now()}`
  const prepare = async (url: string): Promise<void> => {
    prepared += 1
    await query(url, 'create table product (name text)')
  }
  const names = await Promise.all([1, 2, 3].map(() => postgres.template(key, prepare)))
  assert.equal(prepared, 1)
  assert.equal(new Set(names).size, 1)
})

test('a template whose preparation failed is prepared again', { skip }, async () => {
  const key = `again ${Date.now()}`
  const fail = async (url: string): Promise<void> => {
    await query(url, 'create table half (name text)')
    throw new Error('no')
  }
  await assert.rejects(postgres.template(key, fail), /no/)
  const template = await postgres.template(key, async (url) => {
    await query(url, 'create table whole (name text)')
  })
  const database = await postgres.createDatabase({ template })
  const tables = await query(
    database.url,
    `select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  )
  assert.deepEqual(tables, [{ relname: 'whole' }])
  await database.close()
})

test('copies of a template do not see each other’s rows', { skip }, async () => {
  const template = await postgres.template(`copies ${Date.now()}`, async (url) => {
    await query(url, `create table card (token text); insert into card values ('first')`)
  })
  const [one, two] = await Promise.all([1, 2].map(() => postgres.createDatabase({ template })))
  assert.ok(one && two)
  await query(one.url, `insert into card values ('second')`)
  assert.deepEqual(await query(one.url, 'select count(*)::int as cards from card'), [{ cards: 2 }])
  assert.deepEqual(await query(two.url, 'select count(*)::int as cards from card'), [{ cards: 1 }])
  await Promise.all([one.close(), two.close()])
})

test('the server and its files go when its process is killed', { skip }, async () => {
  const { child, url } = await openElsewhere('wait')
  const [row] = await query(url, 'show data_directory')
  child.kill('SIGKILL')
  assert.ok(await withinMs(10_000, () => refusesConnections(url)), 'the server still runs')
  const isGone = async (): Promise<boolean> => !existsSync(String(row?.data_directory))
  assert.ok(await withinMs(10_000, isGone), 'its files are still there')
})

test('a process that forgets its server ends all the same', { skip }, async () => {
  const { child, url } = await openElsewhere('forget')
  if (child.exitCode === null) await once(child, 'exit')
  assert.equal(child.exitCode, 0)
  assert.ok(await withinMs(10_000, () => refusesConnections(url)), 'the server still runs')
})

test('a server waits for the disk only where asked', { skip }, async () => {
  const durable = await openPostgres({ fsync: true })
  assert.ok(durable.url)
  assert.deepEqual(await query(durable.url, 'show fsync'), [{ fsync: 'on' }])
  await durable.stop()
  assert.ok(await refusesConnections(durable.url))
})
