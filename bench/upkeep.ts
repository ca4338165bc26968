/**
 * Measures the background work of a service with many rows, and its effect on a client: `npm run
 * bench -- upkeep`. Events per second in a client's feed; the time to delete ten million old events
 * and attempts; the time to re-encrypt a million cards. `--events 10000000 --attempts 1000000
 * --cards 100000` set the numbers.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import type pg from 'pg'
import { expireRecords } from '../src/operations/events/expire.ts'
import { publishBatch } from '../src/operations/events/publish.ts'
import type { Database } from '../src/storage/engine/database.ts'
import { openPostgres as openPool } from '../src/storage/engine/postgres.ts'
import { findDatabaseDay, makeSlice, slicedTables } from '../src/storage/events/slices.ts'
import { fillCards } from './fill-cards.ts'
import { type Bench, type BenchService, createCards, headersFor, runBench } from './support.ts'

const { values: options } = parseArgs({
  options: {
    events: { type: 'string', default: '10000000' },
    attempts: { type: 'string', default: '10000000' },
    cards: { type: 'string', default: '100000' },
    unpublished: { type: 'string', default: '50000' },
    seconds: { type: 'string', default: '5' },
  },
})
const retention = { eventDays: 30, attemptDays: 90, paymentDays: 400 }
const rowsEach = 250_000

/** Sends a client's changes of cards and measures the slowest of a hundred. */
async function callAround(service: BenchService, paths: readonly string[]): Promise<string> {
  const { 'content-type': _, ...headers } = await headersFor(service)
  const { latency, non2xx, requests } = await autocannon({
    url: service.sandbox.baseUrl,
    headers,
    requests: paths.map((path) => ({ method: 'POST' as const, path })),
    connections: 8,
    duration: Number(options.seconds),
  })
  if (non2xx > 0) throw new Error(`${non2xx} calls were not 2xx.`)
  return `${Math.round(requests.average)}/s, p99 ${latency.p99} ms`
}

/** Runs work while a client calls. */
async function beside(work: () => Promise<unknown>, call: () => Promise<string>) {
  const fromMs = performance.now()
  let seconds = 0
  const working = work().then(() => {
    seconds = (performance.now() - fromMs) / 1_000
  })
  const noticed: string[] = []
  do noticed.push(await call())
  while (seconds === 0)
  await working
  return { seconds, noticed }
}

/** Measures the publication of a client's events to an endpoint that subscribes to none of them. */
async function measureFeed(client: pg.Client, database: Database): Promise<void> {
  await client.query(
    `insert into event (public_token, sequence, client_id, type, details)
     select (1000000000 + n)::text, 1, 'feed-client', 'card.created',
       '{"cardProduct":1001,"cardType":"Virtual","cardStatusCode":"00"}'
     from generate_series(1, $1::integer) as n`,
    [Number(options.unpublished)],
  )
  const fromMs = performance.now()
  while ((await publishBatch(database)) > 0);
  const seconds = (performance.now() - fromMs) / 1_000
  console.log(`one client's feed: ${Math.round(Number(options.unpublished) / seconds)} events/s`)
}

/** Inserts old events, in slices that have ended, and old attempts. */
async function fillOld(client: pg.Client, database: Database): Promise<void> {
  const today = await findDatabaseDay(database)
  for (const table of slicedTables) {
    for (const fromDay of [today - 40, today - 35]) {
      await makeSlice(database, { table, fromDay, untilDay: fromDay + 5 })
    }
  }
  await client.query('set session_replication_role = replica')
  const old = (n: string, days: number) =>
    `now() - interval '${days} days' + ${n} * interval '50 microseconds'`
  for (let from = 1; from <= Number(options.events); from += rowsEach) {
    const numbers = `generate_series(${from}, ${Math.min(from + rowsEach - 1, Number(options.events))}) as n`
    await client.query(
      `insert into event (public_token, sequence, client_id, type, occurred_at, details, published)
       select (1000000000 + n)::text, 1, 'demo-client', 'card.created', ${old('n', 38)}, '{"cardStatusCode":"00"}', true
       from ${numbers}`,
    )
    await client.query(
      `insert into published_event (client_id, position, event_id, public_token, sequence, type, occurred_at, details,
         published_at)
       select 'demo-client', n, gen_random_uuid(), (1000000000 + n)::text, 1, 'card.created', ${old('n', 38)},
         '{"cardStatusCode":"00"}', ${old('n', 38)}
       from ${numbers}`,
    )
  }
  for (let from = 1; from <= Number(options.attempts); from += rowsEach) {
    await client.query(
      `insert into authorization_request (public_token, authorization_id, client_id, network_id,
        request_id, reference,
         entry_mode, requested_at, kind, try_number, epoch, result, restored, remaining_tries)
       select (1000000000 + n)::text, gen_random_uuid(), 'demo-client', 'demo-network', 'r',
         '123456789012', 'chip',
         ${old('n', 100)}, 'pin', 1, 1, 'match', true, 3
       from generate_series(${from}, ${Math.min(from + rowsEach - 1, Number(options.attempts))}) as n`,
    )
  }
  await client.query('vacuum analyze')
  await client.query('checkpoint')
}

async function rotate(service: BenchService, key: string): Promise<string> {
  const headers = await headersFor(service, service.sandbox.admin)
  const answer = await fetch(`${service.privateUrl}/keys/${key}/rotate`, {
    method: 'POST',
    headers: { authorization: headers.authorization ?? '' },
  })
  if (!answer.ok) throw new Error(await answer.text())
  return headers.authorization ?? ''
}

/** Measures from the first re-encrypted row to the last. */
async function measureReEncryption(service: BenchService, client: pg.Client): Promise<void> {
  await rotate(service, 'personal-data')
  const progress = async () => {
    const { rows } = await client.query(
      `select round, re_encrypted::integer as moved, extract(epoch from started_at)::float8 as began
       from re_encryption where key_name = 'personal-data'`,
    )
    return rows[0] as { round: number; moved: number; began: number } | undefined
  }
  let found = await progress()
  while (!found || found.round === 1) {
    await wait(200)
    found = await progress()
  }
  const seconds = Date.now() / 1_000 - found.began
  const perSecond = found.moved / seconds
  console.log(
    `re-encryption: ${found.moved} rows in ${seconds.toFixed(0)} s, ${Math.round(perSecond)}/s: ` +
      `${(1e6 / perSecond / 60).toFixed(0)} min for a million cards`,
  )
}

async function measureAll(bench: Bench): Promise<void> {
  const service = await bench.startService({ REENCRYPTION_ROWS_PER_SECOND: '1000000' })
  const client = await bench.connect()
  const database = openPool({
    connectionString: bench.databaseUrl,
    poolSize: 2,
    onIdleError: () => undefined,
  })
  const publicTokens = await createCards(service.base, await headersFor(service), 64)
  const base = new URL(service.base).pathname
  const call = () =>
    callAround(
      service,
      publicTokens.map((token) => `${base}/card-pin/${token}/pin/unblock`),
    )
  try {
    await measureFeed(client, database)
    await fillOld(client, database)
    console.log(`unblocks before: ${await call()}`)
    const { noticed, seconds } = await beside(() => expireRecords(database, retention), call)
    console.log(
      `${options.events} old events and ${options.attempts} attempts forgotten in ` +
        `${seconds.toFixed(0)} s`,
    )
    console.log(`unblocks meanwhile: ${noticed.join('; ')}`)
    await fillCards(bench, { count: Number(options.cards), sealed: 'all' })
    const moved = await beside(() => measureReEncryption(service, client), call)
    console.log(`unblocks meanwhile: ${moved.noticed.slice(0, 5).join('; ')}`)
  } finally {
    await database.close()
  }
}

const settings = { shared_buffers: '2GB', max_wal_size: '8GB', autovacuum_naptime: '1min' }
await runBench(measureAll, { fsync: true, settings })
