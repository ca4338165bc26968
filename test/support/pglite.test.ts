import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { type Database, statement } from '../../src/storage/engine/database.ts'
import { openPglite } from '../../src/storage/engine/pglite.ts'
import { openTestPglite } from './pglite.ts'

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
