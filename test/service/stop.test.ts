import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Database, statement } from '../../src/storage/engine/database.ts'
import { openPglite } from '../../src/storage/engine/pglite.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeMigratedFolder, type Program, startProgram } from '../support/process.ts'
import { pool, sql } from '../support/service.ts'

const openSocket = async ({ baseUrl }: Program): Promise<Socket> => {
  const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

const json = JSON.stringify({ status: 'Blocked' })

test('SIGTERM lets a running request finish, whoever else is connected, and exits with 0', async () => {
  const program = await startProgram()
  const token = await program.token()
  const card = await program.call('POST', '/cards', {
    token,
    body: {
      cardType: 'Virtual',
      cardProduct: 1001,
      cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
      address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
    },
  })
  assert.equal(card.status, 201)
  const silent = await openSocket(program)
  const halfWay = await openSocket(program)
  halfWay.write('POST /oauth/token HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le')

  const running = await openSocket(program)
  const { host } = new URL(program.baseUrl)
  running.write(
    `PUT /thr/processor/card-cvv/${card.json.publicToken}/cvv/status HTTP/1.1\r\nHost: ${host}\r\n` +
      `Authorization: Bearer ${token}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n` +
      `Content-Length: ${json.length}\r\n\r\n`,
  )
  const answer: Buffer[] = []
  running.on('data', (chunk: Buffer) => answer.push(chunk))
  // The server has the request, and waits for its body.
  await once(running, 'data')
  const ended = program.kill('SIGTERM')
  // The signal has arrived when nobody can connect any more.
  await untilRefused(program.baseUrl)
  running.write(json)
  assert.deepEqual(await ended, { code: 0, signal: null })
  assert.match(Buffer.concat(answer).toString(), /HTTP\/1\.1 204/)
  for (const socket of [silent, halfWay, running]) socket.destroy()
})

const untilRefused = async (url: string): Promise<void> => {
  while (
    await fetch(`${url}/problems`).then(
      async (response) => response.text().then(() => true),
      () => false,
    )
  );
}

test('npm start hands SIGTERM on: whoever stops npm leaves no server behind', {
  timeout: 120_000,
}, async () => {
  const program = await startProgram({ words: ['npm', 'start'] })
  // It ends when nobody holds its output any more: npm, its shell and the server.
  await program.kill('SIGTERM')
  assert.match(program.stdout(), /Pinfold is ready/)
  await untilRefused(program.baseUrl)
})

test('SIGINT stops the program as SIGTERM does', async () => {
  const program = await startProgram()
  assert.deepEqual(await program.kill('SIGINT'), { code: 0, signal: null })
})

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
