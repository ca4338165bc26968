/**
 * How long the first page of the console takes on the server with a million authorizations of 30
 * days, by client and reason: `npm run bench -- console-home`, with others `--authorizations
 * 100000`. `--calls 100` is how often each page is asked, one after the other.
 */
import { parseArgs } from 'node:util'
import type pg from 'pg'
import { openBrowser } from '../test/support/browser.ts'
import { type BenchService, runBench, untilCounted } from './support.ts'

const { values: options } = parseArgs({
  options: {
    authorizations: { type: 'string', default: '1000000' },
    calls: { type: 'string', default: '100' },
  },
})
const clients = 20

/** Inserts authorizations of 30 days; one in seven is declined, for one of six reasons. */
const fillAuthorizations = (client: pg.Client) =>
  client.query(
    `insert into authorization_request (public_token, authorization_id, client_id, network_id,
       request_id, reference, entry_mode, response_code, checks, duration_ms, requested_at,
       decided_at, amount, currency_code, payment_id)
     select lpad((n % 100000)::text, 10, '1'), gen_random_uuid(), 'client-' || n % ${clients},
       'demo-network', 'r', lpad(n::text, 12, '0'), 'chip',
       case
         when n % 7 = 0 then (array['55', '51', '61', '57', '75', 'N7'])[1 + n % 6]
         else '00'
       end,
       '[{"check":"card","result":"passed","afterMs":1}]', 3, at, at, 1234, 'EUR',
       case when n % 7 > 0 then gen_random_uuid() end
     from (
       select n, now() - interval '1 minute' - random() * interval '30 days' as at
       from generate_series(1, $1::integer) n
     ) as dated`,
    [Number(options.authorizations)],
  )

const percentile = (sorted: readonly number[], share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(1)

/** Asks each page, one call after the other, and prints its times and its size. */
async function measurePages({ privateUrl, sandbox }: BenchService): Promise<void> {
  const browser = openBrowser()
  const { signInUrl = '' } = sandbox.people.find(({ role }) => role === 'support') ?? {}
  await browser.visit(signInUrl)
  console.log('page | p50, ms | p99, ms | kB')
  for (const address of [
    '/console?range=24h',
    '/console?range=7d',
    '/console?range=30d',
    '/console?range=30d&client=client-1',
    '/console/authorizations',
    '/console/authorizations?responseCode=75',
    '/console/authorizations?responseCode=41',
  ]) {
    const times: number[] = []
    let bytes = 0
    // The first calls prepare statements.
    for (let call = -10; call < Number(options.calls); call += 1) {
      const fromMs = performance.now()
      const { status, text } = await browser.visit(`${privateUrl}${address}`)
      if (status !== 200) throw new Error(`${address} was answered ${status}.`)
      if (text.includes('could not be read')) throw new Error(`${address} lacks figures.`)
      if (call >= 0) times.push(performance.now() - fromMs)
      bytes = text.length
    }
    const sorted = times.toSorted((one, other) => one - other)
    const row = [address, percentile(sorted, 0.5), percentile(sorted, 0.99)]
    console.log([...row, Math.round(bytes / 1_000)].join(' | '))
  }
}

await runBench(
  async (bench) => {
    const service = await bench.startService()
    const client = await bench.connect()
    await fillAuthorizations(client)
    await client.query('vacuum analyze authorization_request')
    await untilCounted(client)
    await client.query('vacuum analyze authorization_count, authorization_hour_count')
    await measurePages(service)
  },
  { fsync: true, settings: { shared_buffers: '1GB', max_wal_size: '8GB' } },
)
