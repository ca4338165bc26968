import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { type Database, statement } from '../../src/storage/engine/database.ts'
import { openLiveReader, produceEvents } from '../operations/webhooks/client-system.ts'
import { openReceiver, type Receiver } from '../operations/webhooks/receiver.ts'
import { openLeftDatabase } from '../support/builders.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, makePreparedFolder, type Program, startProgram } from '../support/process.ts'
import { newCard, openServerDatabase, sql } from '../support/service.ts'
import { until } from '../support/until.ts'

const openSocket = async ({ baseUrl }: Program): Promise<Socket> => {
  const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

const json = JSON.stringify({ status: 'Blocked' })

test('SIGTERM lets a running request finish, ends streams, and exits with 0 within 5 s', async () => {
  const program = await startProgram({ env: { RATE_LIMIT: 'off', LOG_LEVEL: 'warn' } })
  const token = await program.token()
  const endpoint = await openReceiver(() => undefined)
  const reader = await followEvents(program, token, endpoint)
  const card = await program.call('POST', '/cards', {
    token,
    body: newCard(),
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
  // A program that takes longer ends itself with exit code 1.
  assert.deepEqual(await ended, { code: 0, signal: null })
  await until(reader.hasEnded)
  assert.match(Buffer.concat(answer).toString(), /HTTP\/1\.1 204/)
  for (const socket of [silent, halfWay, running]) socket.destroy()
})

/**
 * A reader of the live feed, who has all events, and an endpoint that answers none of its two
 * deliveries.
 */
const followEvents = async (program: Program, token: string, { received, url }: Receiver) => {
  await program.call('POST', '/webhooks', { token, body: { url, events: ['*'] } })
  const port = Number(new URL(program.baseUrl).port)
  const reader = await openLiveReader(port, { token, host: `127.0.0.1:${port}` })
  assert.equal(reader.status, 200)
  await produceEvents(() => program, { cards: 2, perCard: 2 })
  await until(() => received.length === 2 && reader.ids.length === 4)
  return reader
}

const untilRefused = async (url: string): Promise<void> => {
  while (
    await fetch(`${url}/problems`).then(
      async (response) => response.text().then(() => true),
      () => false,
    )
  );
}

test('npm start passes SIGTERM on, so that the end of npm leaves no server behind', {
  timeout: 120_000,
}, async () => {
  const program = await startProgram({ words: ['npm', 'start'] })
  // It ends when nobody holds its output any more: npm, its shell and the server.
  await program.kill('SIGTERM')
  assert.match(program.stdout(), /Pinfold is ready/)
  assert.doesNotMatch(program.stdout(), /^ {2}Clock /m, 'the clock is that of the machine')
  await untilRefused(program.baseUrl)
})

const postgres = await openPostgres()

/**
 * Requests of two days ago that a sweep forgets, 100 a step: many times what it does before the
 * signal.
 */
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

test('SIGTERM in the middle of a long sweep closes the embedded database and exits with 0 within 5 s', async () => {
  const dataDir = await makePreparedFolder((database) => database.query(fill), 'migrated')
  const program = await startProgram({ dataDir })
  assert.deepEqual(await program.kill('SIGTERM'), { code: 0, signal: null })
  const after = await openLeftDatabase(dataDir)
  const left = await countLeft(after)
  await after.close()
  assert.ok(left > 0, 'There was nothing left to sweep: this proves nothing.')
})

test('SIGTERM in the middle of a long sweep on a server lets go of it and exits with 0 within 5 s', {
  skip: postgres.leftOut,
}, async () => {
  const { database, url } = await openServerDatabase(postgres, 1)
  await database.query(fill)
  const program = await startProgram({
    dataDir: await makeFolder(),
    env: { DATABASE_URL: url, SANDBOX: 'true' },
  })
  while ((await countLeft(database)) === backlog);
  assert.deepEqual(await program.kill('SIGTERM'), { code: 0, signal: null })
  assert.ok(
    (await countLeft(database)) > 0,
    'There was nothing left to sweep: this proves nothing.',
  )
})
