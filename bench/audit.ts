/**
 * Measures the cost of the audit log: `npm run bench -- audit`. Calls per second while acts are
 * entered, and while they are not, because the benchmark holds the lease. The processor time for
 * entering 1,000 acts per second, in this program and in the database; the bytes that the database
 * writes per act; and the time from a disclosure to its receipt. `--rounds 5 --seconds 5` sets
 * the number and length of the measurements, `--parts receipts,bytes,calls,share` selects them.
 */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import type pg from 'pg'
import { createSequencer } from '../src/operations/audit-log/sequence.ts'
import { type Database, statement } from '../src/storage/engine/database.ts'
import { releaseLease } from '../src/storage/engine/leases.ts'
import { openPostgres as openPool } from '../src/storage/engine/postgres.ts'
import { type Card, composeRequest, issueCards } from './network.ts'
import { type BenchService, headersFor, median, runBench } from './support.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    parts: { type: 'string', default: 'receipts,bytes,calls,share' },
  },
})
const parts = options.parts.split(',')
const connections = 32
const cardCount = 128
const lease = { name: 'keep-audit-log', seconds: 5 }

/** The PIN of every card, set before it is tried. */
const pin = '4829'

/** A measured call, which is one or two acts in the log. */
interface Scenario {
  readonly name: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly requests: readonly autocannon.Request[]
}

async function listScenarios(
  service: BenchService,
  cards: readonly Card[],
): Promise<readonly Scenario[]> {
  const { base, privateUrl, sandbox } = service
  const json = await headersFor(service)
  const { 'content-type': _, ...headers } = json
  const ofCards = (method: 'GET' | 'POST', path: string, body?: string) =>
    cards.map(({ publicToken }) => ({
      method,
      path: new URL(`${base}${path.replace(':token', publicToken)}`).pathname,
      ...(body !== undefined && { body }),
    }))
  const url = sandbox.baseUrl
  return [
    { name: 'Get current PIN', url, headers, requests: ofCards('GET', '/card-pin/:token/pin') },
    {
      name: 'Set PIN',
      url,
      headers: json,
      requests: ofCards('POST', '/card-pin/:token/pin', `{"pin":"${pin}"}`),
    },
    {
      name: 'Authorization with a PIN',
      url: privateUrl,
      headers: await headersFor(service, sandbox.network),
      requests: cards.map((card) => ({
        method: 'POST',
        path: '/network/authorizations',
        body: composeRequest(service, { ...card, pin }),
      })),
    },
  ]
}

/** Calls per second, over a cycle of cards that all connections share. */
async function measure({ headers, requests, url }: Scenario, amount?: number): Promise<number> {
  let asked = 0
  const setupRequest = (request: autocannon.Request): autocannon.Request => {
    asked += 1
    return { ...request, ...requests[asked % requests.length] }
  }
  const result = await autocannon({
    url,
    headers,
    connections,
    requests: [{ setupRequest }],
    ...(amount === undefined ? { duration: Number(options.seconds) } : { amount }),
  })
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url}: ${result.non2xx} not 2xx`)
  return result.requests.average
}

const takeStatement = statement(
  'take_lease',
  `update lease set holder = $2, leased_until = now() + make_interval(secs => $3) where lease_name = $1
   returning lease_name as "leaseName"`,
)

/** Holds the lease, so that no service enters acts until the returned function is called. */
async function standStill(database: Database): Promise<() => Promise<void>> {
  const values = [lease.name, randomUUID(), lease.seconds]
  while ((await database.query(takeStatement, values)).length === 0) await wait(20)
  const renewing = setInterval(() => void database.query(takeStatement, values), 1_000)
  // The previous holder finishes a batch and requests the lease again after it.
  await wait(2_000)
  return async () => {
    clearInterval(renewing)
    await releaseLease(database, lease.name, String(values[1]))
  }
}

const figure = async (client: pg.Client, select: string): Promise<number> =>
  Number((await client.query(`select (${select}) as figure`)).rows[0].figure)

const waiting = `select (select count(*) from event where not published)
  + (select count(*) from published_event left join audit_feed using (client_id)
     where published_event.position > coalesce(audit_feed.position, 0))`

const untilEntered = async (client: pg.Client): Promise<void> => {
  while ((await figure(client, waiting)) > 0) await wait(100)
}

async function compare(
  scenario: Scenario,
  database: Database,
  client: pg.Client,
): Promise<Record<string, string | number>> {
  const [running, standing]: [number[], number[]] = [[], []]
  for (let round = 0; round < Number(options.rounds); round += 1) {
    await untilEntered(client)
    const goOn = await standStill(database)
    standing.push(await measure(scenario))
    await goOn()
    await untilEntered(client)
    running.push(await measure(scenario))
  }
  const ratio = median(running) / median(standing)
  return {
    operation: scenario.name,
    'nobody enters, calls/s': Math.round(median(standing)),
    'entered meanwhile, calls/s': Math.round(median(running)),
    slower: `${((1 - ratio) * 100).toFixed(1)} %`,
  }
}

const lsn = `select pg_current_wal_insert_lsn() - '0/0'`

/** Measures the bytes in the write-ahead log of a call and its entry, without other load. */
async function measureBytes(
  scenario: Scenario,
  database: Database,
  client: pg.Client,
): Promise<Record<string, string | number>> {
  const amount = 4_000
  await untilEntered(client)
  const goOn = await standStill(database)
  // Excludes full-page writes after a checkpoint, which belong to neither.
  await client.query('checkpoint')
  await measure(scenario, amount)
  const indexes = await figure(client, 'select size from audit_log')
  const from = await figure(client, lsn)
  await measure(scenario, amount)
  while ((await figure(client, 'select count(*) from event where not published')) > 0)
    await wait(50)
  const acted = await figure(client, lsn)
  await goOn()
  await untilEntered(client)
  const entered = await figure(client, lsn)
  const entries = (await figure(client, 'select size from audit_log')) - indexes
  return {
    operation: scenario.name,
    'entries a call': (entries / (2 * amount)).toFixed(2),
    'bytes a call': Math.round((acted - from) / amount),
    'bytes an entry': Math.round((entered - acted) / entries),
  }
}

/** The processor time of a process on this machine, in microseconds. */
async function workedMicroseconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // After the name in brackets: state is the first field, utime and stime the 12th and 13th
  // (proc(5)), in 1/100 s.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

const perSecond = 1_000
const everyMs = 100

/** Measures the processor time for entering a thousand acts per second, a quarter of them tries. */
async function measureShare(url: string, client: pg.Client, standing: Database): Promise<void> {
  const database = openPool({ connectionString: url, poolSize: 1, onIdleError: () => undefined })
  await untilEntered(client)
  const goOn = await standStill(standing)
  const enter = createSequencer({ database, origin: 'bench.example/audit' })
  const [backend] = await database.query<{ pid: number }>({
    name: 'own_backend',
    text: 'select pg_backend_pid() as pid',
  })
  if (!backend) throw new Error('It has no connection.')
  const seconds = 30
  const actFor = async (): Promise<void> => {
    const untilMs = performance.now() + seconds * 1_000
    for (let dueMs = performance.now(); dueMs < untilMs; dueMs += everyMs) {
      await wait(Math.max(0, dueMs - performance.now()))
      await client.query(injection((perSecond * everyMs) / 1_000))
    }
  }
  const computeShare = (microseconds: number) => microseconds / (seconds * 1e6)
  const usedBy = async (work: () => Promise<unknown>): Promise<number> => {
    const before = process.cpuUsage()
    await work()
    const { system, user } = process.cpuUsage(before)
    return user + system
  }
  // Excludes the cost of making the acts.
  const making = await usedBy(actFor)
  while ((await enter()) > 0);
  const its = await workedMicroseconds(backend.pid)
  let entries = 0
  const both = await usedBy(async () => {
    let isOver = false
    const acting = actFor().finally(() => {
      isOver = true
    })
    while (!isOver) {
      entries += await enter()
      await wait(250)
    }
    await acting
  })
  const there = (await workedMicroseconds(backend.pid)) - its
  const percent = (microseconds: number) => `${(100 * computeShare(microseconds)).toFixed(1)} %`
  console.log(
    `${Math.round(entries / seconds)} of ${perSecond} acts a second entered: ` +
      `${percent(both - making)} of a core here, ${percent(there)} in the database; ` +
      `${((both - making + there) / entries).toFixed(0)} µs an entry`,
  )
  await goOn()
  await database.close()
}

/** Inserts acts without their causes: three of four are events, the others tries. */
const injection = (count: number): string => `with head as (
    insert into feed_head (client_id, last_position) values ('bench', ${count})
    on conflict (client_id) do update set last_position = feed_head.last_position + ${count}
    returning last_position - ${count} as base
  ), events as (
    insert into published_event
      (client_id, position, event_id, public_token, sequence, type, occurred_at, details, request_id)
    select 'bench', base + n, gen_random_uuid(), '1000000001', 1, 'pin.revealed', now(),
      '{"clientId":"bench","requestId":"4b9a1c2e-7d4a-4a77-9d53-5f1b8f2f7c11"}', '4b9a1c2e-7d4a-4a77-9d53-5f1b8f2f7c11'
    from head cross join generate_series(1, ${(count * 3) / 4}) as n
  )
  insert into authorization_request (public_token, authorization_id, client_id, network_id,
    request_id, reference,
    entry_mode, kind, try_number, epoch, result, remaining_tries)
  select (2000000000 + n)::text, gen_random_uuid(), 'demo-client', 'network', '4b9a1c2e-7d4a-4a77-9d53-5f1b8f2f7c11',
    'R-1', 'chip', 'pin', base::integer + 1, 1, 'match', 2
  from head cross join generate_series(1, ${count / 4}) as n`

/** Measures the time from a disclosure's answer to its receipt, in sequence. */
async function measureReceipts(
  { base }: BenchService,
  cards: readonly Card[],
  headers: Record<string, string>,
): Promise<void> {
  const count = 400
  const apartMs = 25
  const askAgainMs = 50
  const measureReceipt = async (number: number): Promise<number> => {
    await wait(number * apartMs)
    const card = cards[number % cards.length]
    const shown = await fetch(`${base}/card-pin/${card?.publicToken}/pin`, { headers })
    const fromMs = performance.now()
    const path = `/receipts/${shown.headers.get('audit-entry')}`
    for (;;) {
      const { status } = await fetch(`${base}${path}`, { headers })
      if (status === 200) return performance.now() - fromMs
      if (status !== 202) throw new Error(`A receipt was answered with ${status}.`)
      await wait(askAgainMs)
    }
  }
  const numbers = Array.from({ length: count }, (_, number) => number)
  const times = (await Promise.all(numbers.map(measureReceipt))).sort((one, other) => one - other)
  const at = (share: number) =>
    ((times[Math.floor(count * share)] ?? Number.NaN) / 1_000).toFixed(2)
  console.log(`${count} receipts were there after ${at(0.5)} s (p50), ${at(0.99)} s (p99)`)
}

await runBench(async (bench) => {
  const service = await bench.startService()
  const client = await bench.connect()
  const database = openPool({
    connectionString: bench.databaseUrl,
    poolSize: 1,
    onIdleError: () => undefined,
  })
  const cards = await issueCards(service, cardCount)
  if (parts.includes('receipts')) {
    const { 'content-type': _, ...headers } = await headersFor(service)
    await measureReceipts(service, cards, headers)
  }
  const scenarios = await listScenarios(service, cards)
  const printTable = async (part: string, row: (scenario: Scenario) => Promise<object>) => {
    if (!parts.includes(part)) return
    const rows: object[] = []
    for (const scenario of scenarios) rows.push(await row(scenario))
    console.table(rows)
  }
  await printTable('bytes', (scenario) => measureBytes(scenario, database, client))
  await printTable('calls', (scenario) => compare(scenario, database, client))
  if (parts.includes('share')) await measureShare(bench.databaseUrl, client, database)
  await database.close()
})
