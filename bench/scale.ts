/**
 * All operations on few cards and on many, in one run on one PostgreSQL server that keeps what it
 * commits, and how long each filter's pages take: `npm run bench -- scale`, with ten million cards
 * `--cards 10000000`. Two services take turns, so that what else the machine does meets both.
 *
 * `--small 20000` is how many the few are, `--measured 2000` the cards that calls go round, made by
 * the service among the others; `--seconds 3 --rounds 5` how long and how often each is measured,
 * `--only 'pin'` which. Settings of the server: `--memory 4GB --log-size 16GB`.
 */
import { parseArgs } from 'node:util'
import type pg from 'pg'
import { writeCursor } from '../src/listeners/http/pages.ts'
import { openPostgres } from '../test/support/postgres.ts'
import { fillCards } from './fill-cards.ts'
import type { Card } from './network.ts'
import { callFor, type Scenario, type Subject, scenarios } from './operations.ts'
import { type Bench, createCards, headersFor, median, runOnServer } from './support.ts'

const { values: options } = parseArgs({
  options: {
    cards: { type: 'string', default: '1000000' },
    small: { type: 'string', default: '20000' },
    measured: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    memory: { type: 'string', default: '4GB' },
    'log-size': { type: 'string', default: '16GB' },
  },
})

/** Cards, and their database. */
interface MeasuredSubject extends Subject {
  readonly database: pg.Client
}

async function readSize(database: pg.Client): Promise<number> {
  const { rows } = await database.query('select pg_database_size(current_database()) as bytes')
  return Number(rows[0].bytes)
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(2)} GB`

/** Creates a service with a number of cards; the measured ones are distributed among them. */
async function openSubject(bench: Bench, count: number): Promise<MeasuredSubject> {
  const service = await bench.startService()
  const database = await bench.connect()
  const headers = await headersFor(service)
  const publicTokens: string[] = []
  const fromMs = performance.now()
  const between = async (share: number) => {
    const due = Math.ceil(share * Number(options.measured)) - publicTokens.length
    // The token may have expired, since filling takes longer than its life.
    if (due > 0)
      publicTokens.push(...(await createCards(service.base, await headersFor(service), due)))
  }
  await fillCards(bench, { count, sealed: 'listed', between })
  const seconds = (performance.now() - fromMs) / 1_000
  const size = gigabytes(await readSize(database))
  console.log(`${count} cards: filled in ${seconds.toFixed(0)} s, ${size} on the disk`)
  const cards: Card[] = []
  for (const publicToken of publicTokens) {
    const current = cards.length % 500 === 0 ? await headersFor(service) : headers
    const revealed = await fetch(`${service.base}/card-pin/${publicToken}/pin`, {
      headers: current,
    })
    cards.push({ publicToken, pin: ((await revealed.json()) as Card).pin })
  }
  return {
    service,
    database,
    cards,
    headers: await headersFor(service),
    networkHeaders: await headersFor(service, service.sandbox.network),
  }
}

/** The result of a run. */
interface Run {
  readonly perSecond: number
  /** Bytes of write-ahead log per call. */
  readonly logBytes: number
  /** Full pages in it per call. */
  readonly logPages: number
}

async function readLogSize(database: pg.Client): Promise<{ bytes: number; pages: number }> {
  const { rows } = await database.query('select wal_bytes, wal_fpi from pg_stat_wal')
  return { bytes: Number(rows[0].wal_bytes), pages: Number(rows[0].wal_fpi) }
}

/** @throws Error for an answer other than 2xx. */
async function measure(scenario: Scenario, subject: MeasuredSubject): Promise<Run> {
  const before = await readLogSize(subject.database)
  const result = await callFor(Number(options.seconds), scenario, subject)
  const after = await readLogSize(subject.database)
  const calls = result['2xx']
  return {
    perSecond: result.requests.average,
    logBytes: (after.bytes - before.bytes) / calls,
    logPages: (after.pages - before.pages) / calls,
  }
}

/** Measures each operation on both, alternating. */
async function compare(scenario: Scenario, small: MeasuredSubject, large: MeasuredSubject) {
  const runs: { small: Run; large: Run }[] = []
  for (let round = 0; round < Number(options.rounds); round += 1) {
    // The order alternates.
    const first = await measure(scenario, round % 2 === 0 ? small : large)
    const second = await measure(scenario, round % 2 === 0 ? large : small)
    runs.push(round % 2 === 0 ? { small: first, large: second } : { small: second, large: first })
  }
  const of = (kind: 'small' | 'large', figure: keyof Run) =>
    median(runs.map((run) => run[kind][figure]))
  return {
    operation: scenario.name,
    'small/s': Math.round(of('small', 'perSecond')),
    'large/s': Math.round(of('large', 'perSecond')),
    ratio: median(runs.map((run) => run.large.perSecond / run.small.perSecond)).toFixed(2),
    'log bytes small': Math.round(of('small', 'logBytes')),
    'log bytes large': Math.round(of('large', 'logBytes')),
    'log pages small': of('small', 'logPages').toFixed(2),
    'log pages large': of('large', 'logPages').toFixed(2),
  }
}

/** Returns the position of the middle of a list. */
async function findDepths({
  database,
}: MeasuredSubject): Promise<{ cards: string; events: string }> {
  const cards = await database.query(
    `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, public_token as token
     from card where client_id = 'demo-client' and created_at < now() - interval '350 days'
     order by client_id desc, created_at desc, public_token desc limit 1`,
  )
  const events = await database.query(
    `select event_id as id from published_event where client_id = 'demo-client'
       and occurred_at >= now() - interval '14 days' order by client_id, occurred_at, position limit 1`,
  )
  return {
    cards: `cursor=${writeCursor([cards.rows[0].at, cards.rows[0].token])}`,
    events: `after=${events.rows[0].id}`,
  }
}

const pagesEach = 20

/** Measures single pages, in milliseconds. */
async function timePages({ headers, service }: Subject, query: string): Promise<string> {
  const times: number[] = []
  let entries = 0
  for (let page = 0; page < pagesEach; page += 1) {
    const fromMs = performance.now()
    const answer = await fetch(`${service.base}${query}`, { headers })
    const body = (await answer.json()) as unknown[]
    if (answer.status !== 200) throw new Error(`${query}: ${answer.status}`)
    times.push(performance.now() - fromMs)
    entries = body.length
  }
  return `${median(times).toFixed(1)} (at most ${Math.max(...times).toFixed(1)}), ${entries} entries`
}

async function timeFilters(subject: MeasuredSubject): Promise<void> {
  const depths = await findDepths(subject)
  const cardFilters = [
    '',
    'cardStatusCode=00',
    'cardStatusCode=46',
    'cardStatusCode=41',
    'cardStatusCode=83',
  ]
  const references = [
    'customerReference=C-ALL',
    'customerReference=C-ALL&cardStatusCode=46',
    'customerReference=C-11',
  ]
  const eventFilters = [
    '',
    'types=card.created',
    'types=pin.blocked',
    'types=pin.blocked,pin.set,card.status_changed',
  ]
  const rows = []
  for (const filter of [...cardFilters, ...references]) {
    const first = await timePages(subject, `/cards?${filter}`)
    const deep = await timePages(subject, `/cards?${filter}${filter && '&'}${depths.cards}`)
    rows.push({ list: `cards ${filter}`, 'first page, ms': first, 'half way, ms': deep })
  }
  for (const filter of eventFilters) {
    const first = await timePages(subject, `/events?${filter}`)
    const deep = await timePages(subject, `/events?${filter}${filter && '&'}${depths.events}`)
    rows.push({ list: `events ${filter}`, 'first page, ms': first, 'half way, ms': deep })
  }
  console.table(rows)
}

/** Prints the size of each table with its slices, per million cards. */
async function printSizes({ database }: MeasuredSubject, count: number): Promise<void> {
  const { rows } = await database.query(
    `select coalesce(parent.relname, own.relname) as table,
       sum(pg_table_size(own.oid)) as rows, sum(pg_indexes_size(own.oid)) as indexes
     from pg_class as own left join pg_inherits on inhrelid = own.oid
     left join pg_class as parent on parent.oid = inhparent
     where own.relnamespace = 'public'::regnamespace and own.relkind = 'r'
     group by 1 order by sum(pg_total_relation_size(own.oid)) desc limit 8`,
  )
  const perMillion = (bytes: string) => `${Math.round(((Number(bytes) / count) * 1e6) / 1e6)} MB`
  console.log('Per million cards, with one event and one attempt each:')
  console.table(
    rows.map((row) => ({
      table: row.table,
      rows: perMillion(row.rows),
      indexes: perMillion(row.indexes),
    })),
  )
}

const settings = {
  shared_buffers: options.memory,
  max_wal_size: options['log-size'],
  checkpoint_timeout: '15min',
  wal_compression: 'pglz',
  autovacuum_naptime: '1min',
}

const postgres = await openPostgres({ fsync: true, settings })
if (postgres.leftOut) throw new Error(postgres.leftOut)
try {
  await runOnServer(postgres, (few) =>
    runOnServer(postgres, async (many) => {
      console.log('settings of the server:', JSON.stringify(settings))
      const small = await openSubject(few, Number(options.small))
      const large = await openSubject(many, Number(options.cards))
      await printSizes(large, Number(options.cards))
      await timeFilters(large)
      const rows = []
      for (const scenario of scenarios) {
        if (!scenario.name.toLowerCase().includes(options.only.toLowerCase())) continue
        rows.push(await compare(scenario, small, large))
        console.log(JSON.stringify(rows.at(-1)))
      }
      console.table(rows)
    }),
  )
} finally {
  await postgres.stop()
}
