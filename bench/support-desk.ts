/**
 * How long an operator waits for each kind of search, for a card, and for pages of the console,
 * with a million cards in one PostgreSQL server that keeps what it commits: `npm run bench --
 * support-desk`, with others `--cards 100000`. All cards have the same last four digits and one
 * in ten the same reference, which is the worst that a search can meet; one card has ten thousand
 * of everything. `--calls 200` is how often each is asked, one call after the other.
 */
import { parseArgs } from 'node:util'
import type pg from 'pg'
import { Pan } from '../src/domain/pan.ts'
import { readConfig } from '../src/service/config/config.ts'
import { openHsm } from '../src/service/hsm.ts'
import { openPostgres as openPool } from '../src/storage/engine/postgres.ts'
import { openBrowser } from '../test/support/browser.ts'
import { fillCards } from './fill-cards.ts'
import {
  type Bench,
  type BenchService,
  createCards,
  headersFor,
  runBench,
  untilCounted,
} from './support.ts'

const { values: options } = parseArgs({
  options: {
    cards: { type: 'string', default: '1000000' },
    calls: { type: 'string', default: '200' },
  },
})
const cards = Number(options.cards)
/** Of one card. */
const busyRows = 10_000
/** A number outside the BINs of this installation's products. */
const pan = new Pan('4999999999999996')

/** Inserts authorizations of every card, and a large history of one. */
async function fillHistory(client: pg.Client, busyToken: string): Promise<void> {
  await client.query(`insert into authorization_request (public_token, authorization_id,
    client_id, network_id, request_id,
      reference, entry_mode, response_code, checks, duration_ms, requested_at, decided_at)
    select public_token, gen_random_uuid(), 'demo-client', 'demo-network', 'r',
      lpad(row_number() over ()::text, 12, '0'), 'chip',
      case when random() < 0.9 then '00' else '55' end,
      '[{"check":"card","result":"passed","afterMs":1},{"check":"pin","result":"passed","afterMs":2}]', 3, at, at
    from (select public_token, now() - random() * interval '28 days' as at from card) as dated`)
  const values = [busyToken]
  await client.query(
    `insert into authorization_request (public_token, authorization_id, client_id, network_id,
      request_id, reference, entry_mode,
      kind, try_number, epoch, result, remaining_tries, response_code, checks, duration_ms, decided_at)
     select $1, lpad(to_hex(n), 32, '0')::uuid, 'demo-client', 'demo-network', 'r', 'BUSY',
       'chip', 'pin', n + 1000, 1,
       'mismatch', 2, '55', '[]', 3, now()
     from generate_series(1, ${busyRows}) n`,
    values,
  )
  await client.query(
    `insert into published_event (client_id, position, event_id, public_token, sequence, type, occurred_at, details)
     select 'demo-client', ${10 * cards} + n, gen_random_uuid(), $1, n + 1000, 'pin.attempt_failed', now(), '{}'
     from generate_series(1, ${busyRows}) n`,
    values,
  )
  await client.query('vacuum analyze')
  await client.query('checkpoint')
}

/** Inserts the token of a PAN into the fingerprints. */
async function addPan({ databaseUrl, dataDir }: Bench, client: pg.Client, publicToken: string) {
  const onIdleError = () => undefined
  const database = openPool({ connectionString: databaseUrl, poolSize: 1, onIdleError })
  const config = { DATA_DIR: dataDir, DATABASE_URL: databaseUrl, SANDBOX: 'true' }
  const hsm = await openHsm(readConfig(config), database)
  for (const { fingerprint, keyVersion } of await hsm.fingerprintPan(pan)) {
    await client.query(
      'insert into pan_fingerprint (pan_fingerprint, public_token, key_version) values ($1, ' +
        '$2, $3)',
      [Buffer.from(fingerprint), publicToken, keyVersion],
    )
  }
  await database.close()
}

interface Call {
  readonly name: string
  readonly path: string
  readonly body?: object
}

const callsFor = (publicToken: string, busyToken: string): readonly Call[] => {
  const search = (name: string, body: object): Call => ({
    name: `search by ${name}`,
    path: '/cards/search',
    body,
  })
  const toMs = Date.now()
  const write = (atMs: number) => new Date(atMs).toISOString()
  const figures = (days: number, bucket: string) =>
    `/figures/authorizations?from=${write(toMs - days * 86_400_000)}&to=${write(toMs)}&bucket=${bucket}`
  return [
    search('token', { publicToken }),
    search('PAN', { pan: pan.reveal() }),
    search('last four, of all cards', { panLastFour: '1234' }),
    search('last four, of none', { panLastFour: '9999' }),
    search('reference, of one in ten', { customerReference: 'c-all' }),
    search('reference, of one', { customerReference: 'C-11' }),
    search('authorization, one', { authorizationReference: '000000000500' }),
    search('authorization, 10,000', { authorizationReference: 'BUSY' }),
    { name: 'card', path: `/cards/${publicToken}` },
    { name: 'card of 10,000 events', path: `/cards/${busyToken}` },
    { name: 'timeline', path: `/cards/${publicToken}/timeline` },
    { name: 'timeline of 10,000 of each', path: `/cards/${busyToken}/timeline` },
    { name: 'authorizations, of 10,000', path: `/cards/${busyToken}/authorizations` },
    { name: 'figures of a day by minutes', path: figures(1, 'minute') },
    { name: 'figures of 28 days by days', path: figures(28, 'day') },
  ]
}

const percentile = (sorted: readonly number[], share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(1)

/** @param ask one call, which returns the number of entries in the answer. */
async function time(name: string, ask: () => Promise<number>) {
  const times: number[] = []
  let entries = 0
  // The first calls of a kind prepare its statements.
  for (let call = -10; call < Number(options.calls); call += 1) {
    const fromMs = performance.now()
    entries = await ask()
    if (call >= 0) times.push(performance.now() - fromMs)
  }
  const sorted = times.toSorted((one, other) => one - other)
  return [name, entries, percentile(sorted, 0.5), percentile(sorted, 0.99)]
}

/** @throws Error for an answer other than 200. */
async function askListener(
  { privateUrl }: BenchService,
  headers: Readonly<Record<string, string>>,
  { body, name, path }: Call,
): Promise<number> {
  const answer = await fetch(`${privateUrl}${path}`, {
    headers,
    method: body ? 'POST' : 'GET',
    ...(body && { body: JSON.stringify(body) }),
  })
  const answered: unknown = await answer.json()
  if (answer.status !== 200) throw new Error(`${name}: ${JSON.stringify(answered)}`)
  return Array.isArray(answered) ? answered.length : 1
}

/**
 * Measures pages of the console for a signed-in person: beside an empty call, and the listener's
 * own answer.
 */
async function timePages({ privateUrl, sandbox }: BenchService, busyToken: string) {
  const browser = openBrowser()
  const signInUrl = sandbox.people.find(({ role }) => role === 'support')?.signInUrl ?? ''
  const { text } = await browser.visit(signInUrl)
  const [, token = ''] = /name="form-token" value="([^"]+)"/.exec(text) ?? []
  const countRows = (page: { status: number; text: string }): number => {
    if (page.status !== 200) throw new Error(`A page was answered ${page.status}.`)
    return page.text.split('<tr').length - 1
  }
  const fields = { 'form-token': token, text: '1234', member: 'panLastFour' }
  return [
    await time('nothing: /livez', async () => (await fetch(`${privateUrl}/livez`)).status),
    await time('page: search by last four', async () =>
      countRows(
        await browser.send(`${privateUrl}/console/search`, {
          ...fields,
          'form-key': crypto.randomUUID(),
        }),
      ),
    ),
    await time('page: card of 10,000 of each', async () =>
      countRows(await browser.visit(`${privateUrl}/console/cards/${busyToken}`)),
    ),
  ]
}

await runBench(
  async (bench) => {
    const service = await bench.startService()
    const client = await bench.connect()
    const fromMs = performance.now()
    const busyToken = await fillCards(bench, { count: cards, sealed: 'listed' })
    await fillHistory(client, busyToken)
    const [publicToken = ''] = await createCards(service.base, await headersFor(service), 1)
    await addPan(bench, client, publicToken)
    console.log(`${cards} cards, filled in ${Math.round((performance.now() - fromMs) / 1_000)} s`)
    const headers = await headersFor(service, service.sandbox.admin)
    const { 'content-type': _, ...reading } = headers
    await untilCounted(client)
    // Printed immediately: a million cards take minutes.
    console.log('call | entries | p50, ms | p99, ms')
    for (const call of callsFor(publicToken, busyToken)) {
      const headersOfCall = call.body ? headers : reading
      const figures = await time(call.name, () => askListener(service, headersOfCall, call))
      console.log(figures.join(' | '))
    }
    for (const figures of await timePages(service, busyToken)) console.log(figures.join(' | '))
    const { rows: sizes } = await client.query(
      `select relname as index, round(pg_relation_size(oid) / 1e6) as "MB" from pg_class
       where relname in ('card_by_last_four', 'card_by_any_reference', 'authorization_request',
         'authorization_request_pkey', 'authorization_request_by_reference', 'authorization_request_by_time')
       union all
       select 'published_event_by_card, all slices', round(sum(pg_relation_size(pg_class.oid)) / 1e6)
       from pg_inherits join pg_class on pg_class.oid = inhrelid where inhparent = 'published_event_by_card'::regclass`,
    )
    console.table(sizes)
  },
  { fsync: true, settings: { shared_buffers: '1GB', max_wal_size: '8GB' } },
)
