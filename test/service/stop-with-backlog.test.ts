import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Database, statement } from '../../src/storage/database.ts'
import { openPglite } from '../../src/storage/pglite.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeMigratedFolder, type Program, startProgram } from '../support/process.ts'
import { pool, sql } from '../support/service.ts'

const postgres = await openPostgres()

/** Requests of two days ago that a sweep forgets, 100 a step: many times what it does before the signal. */
const backlog = 40_000

const fill = statement(
  'test_fill_backlog',
  `insert into idempotency_record (client_id, key_hash, request_fingerprint, created_at)
   select 'gone', sha256(n::text::bytea), '\\x00'::bytea, now() - interval '2 days'
   from generate_series(1, ${backlog}) n`,
)

const countLeft = async (database: Database): Promise<number> => {
  const [row] = await sql<{ left: number }>(
    database,
    `select count(*)::integer as "left" from idempotency_record where client_id = 'gone'`,
  )
  return row?.left ?? 0
}

/** Stops a program that sweeps. @returns how it ended, and how long that took. */
const stop = async (program: Program) => {
  const startedAtMs = performance.now()
  const ended = await program.kill('SIGTERM')
  return { ended, isInTime: performance.now() - startedAtMs < 5_000 }
}

test('SIGTERM in the middle of a long sweep closes the embedded database and exits with 0 within 5 s', async () => {
  const dataDir = await makeMigratedFolder()
  await (await startProgram({ dataDir })).kill('SIGTERM')
  const folder = join(dataDir, 'pgdata')
  const before = await openPglite(folder)
  await before.query(fill)
  await before.close()
  const program = await startProgram({ dataDir })
  assert.deepEqual(await stop(program), { ended: { code: 0, signal: null }, isInTime: true })
  const after = await openPglite(folder)
  const left = await countLeft(after)
  await after.close()
  assert.ok(left > 0, 'There was nothing left to sweep: this proves nothing.')
})

test('SIGTERM in the middle of a long sweep on a server lets go of it and exits with 0 within 5 s', {
  skip: postgres.leftOut,
}, async (t) => {
  const { close, url } = await postgres.createDatabase()
  const first = await startProgram({ env: { DATABASE_URL: url, SANDBOX: 'true' } })
  await first.kill('SIGTERM')
  const database = pool(url, 1)
  t.after(async () => {
    await database.close()
    await close()
  })
  await database.query(fill)
  const program = await startProgram({
    dataDir: first.dataDir,
    env: { DATABASE_URL: url, SANDBOX: 'true' },
  })
  while ((await countLeft(database)) === backlog);
  assert.deepEqual(await stop(program), { ended: { code: 0, signal: null }, isInTime: true })
  assert.ok(
    (await countLeft(database)) > 0,
    'There was nothing left to sweep: this proves nothing.',
  )
})
