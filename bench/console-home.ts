/**
 * How long the screens of the console take on the server with a million authorizations of 30 days,
 * by client and reason, a million cards, and one card with 10,000 authorizations and payments:
 * `npm run bench -- console-home`, with others `--authorizations 100000 --cards 100000`.
 * `--calls 100` is how often each screen is asked, one after the other.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type pg from 'pg'
import { listScreens } from '../src/console/screens.ts'
import { type BrowserAnswer, openBrowser } from '../test/support/browser.ts'
import { type BenchService, createCards, headersFor, runBench, untilCounted } from './support.ts'

const { values: options } = parseArgs({
  options: {
    authorizations: { type: 'string', default: '1000000' },
    cards: { type: 'string', default: '1000000' },
    calls: { type: 'string', default: '100' },
  },
})
const clients = 20
/** The authorizations and the payments of the busy card. */
const busyRows = 10_000

/** Inserts authorizations of 30 days; one in seven is declined, for one of six reasons. */
const fillAuthorizations = (client: pg.Client, busyToken: string) =>
  client.query(
    `insert into authorization_request (public_token, authorization_id, client_id, network_id,
       request_id, reference, entry_mode, response_code, checks, duration_ms, requested_at,
       decided_at, amount, currency_code, payment_id)
     select case when n <= $3 then $2 else lpad((n % 100000)::text, 10, '1') end,
       gen_random_uuid(), 'client-' || n % ${clients},
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
    [Number(options.authorizations), busyToken, busyRows],
  )

/** Inserts the payments of the approved authorizations of a card. */
const fillPayments = (client: pg.Client, busyToken: string) =>
  client.query(
    `insert into payment (public_token, payment_id, client_id, network_id, opened_by,
       currency_code, approved, hold_expires_at, opened_at)
     select public_token, payment_id, client_id, network_id, 'authorization', currency_code,
       amount, now() + interval '7 days', decided_at
     from authorization_request
     where public_token = $1 and payment_id is not null`,
    [busyToken],
  )

/** Inserts open cards that expire within four years, the first of them in two months. */
const fillCards = (client: pg.Client) =>
  client.query(
    `insert into card (public_token, client_id, product_id, card_type, masked_pan, encrypted_pan,
       personal_data, start_date, expiry_date, line_token, status_code, pvv, pin_key, cvk)
     select token, 'client-' || n % ${clients}, 1001, 'Virtual',
       '400000******' || lpad((n % 10000)::text, 4, '0'), decode(repeat('00', 45), 'hex'),
       decode(repeat('00', 200), 'hex'), '2025-01-01',
       (date_trunc('month', now() at time zone 'UTC' + make_interval(months => 2 + n % 46))
         - interval '1 day')::date,
       token, '00', '1234', 'pvk/1', 'cvk/1'
     from (
       select n, (2000000000 + n)::text as token from generate_series(1, $1::integer) n
     ) as numbered`,
    [Number(options.cards)],
  )

const percentile = (sorted: readonly number[], share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(1)

/** A page that is asked repeatedly. */
interface MeasuredPage {
  readonly address: string
  /** A pause before each call, after which no earlier answer is used again. */
  readonly pauseMs?: number
}

/** Lists Home in all its periods, each screen of the navigation, and those of the busy card. */
function listPages(busyToken: string): readonly MeasuredPage[] {
  // A security officer sees every screen of the navigation but one.
  const screens = listScreens(true).filter(
    ({ navigation, path }) =>
      navigation !== null && path !== '/console' && path !== '/console/unblock',
  )
  return [
    '/console?range=24h',
    '/console?range=7d',
    '/console?range=30d',
    '/console?range=30d&client=client-1',
    ...screens.map(({ path }) => path),
    '/console/authorizations?responseCode=75',
    '/console/authorizations?responseCode=41',
    `/console/cards/${busyToken}`,
    `/console/cards/${busyToken}/payments`,
  ].map((address) => ({
    address,
    // The number of cards that expire is read again after two seconds.
    ...(address === '/console/keys' && { pauseMs: 2_100 }),
  }))
}

/** Asks a page, one call after the other, and prints its times and its size. */
async function measurePage(
  visit: (address: string) => Promise<BrowserAnswer>,
  { address, pauseMs = 0 }: MeasuredPage,
): Promise<void> {
  const calls = pauseMs > 0 ? Number(options.calls) / 5 : Number(options.calls)
  const times: number[] = []
  let bytes = 0
  // The first calls prepare statements.
  for (let call = pauseMs > 0 ? -1 : -10; call < calls; call += 1) {
    await wait(pauseMs)
    const fromMs = performance.now()
    const { status, text } = await visit(address)
    if (status !== 200) throw new Error(`${address} was answered ${status}.`)
    if (text.includes('could not be read')) throw new Error(`${address} lacks figures.`)
    if (call >= 0) times.push(performance.now() - fromMs)
    bytes = Buffer.byteLength(text)
  }
  const sorted = times.toSorted((one, other) => one - other)
  const row = [address, percentile(sorted, 0.5), percentile(sorted, 0.99)]
  console.log([...row, Math.round(bytes / 1_000)].join(' | '))
}

/** Measures pages for a signed-in person. */
async function measurePages(
  { privateUrl, sandbox }: BenchService,
  pages: readonly MeasuredPage[],
): Promise<void> {
  const browser = openBrowser()
  const { signInUrl = '' } = sandbox.people.find(({ role }) => role === 'security-officer') ?? {}
  await browser.visit(signInUrl)
  console.log('page | p50, ms | p99, ms | kB')
  for (const page of pages) {
    await measurePage((address) => browser.visit(`${privateUrl}${address}`), page)
  }
}

await runBench(
  async (bench) => {
    const service = await bench.startService()
    const client = await bench.connect()
    const fromMs = performance.now()
    const [busyToken = ''] = await createCards(service.base, await headersFor(service), 1)
    await fillAuthorizations(client, busyToken)
    await fillPayments(client, busyToken)
    await fillCards(client)
    await client.query('vacuum analyze')
    const filledMs = performance.now()
    await untilCounted(client)
    await client.query('vacuum analyze authorization_count, authorization_hour_count')
    const seconds = (ms: number) => `${Math.round(ms / 1_000)} s`
    console.log(
      `filled in ${seconds(filledMs - fromMs)}, ` +
        `counted ${seconds(performance.now() - filledMs)} later`,
    )
    await measurePages(service, listPages(busyToken))
  },
  { fsync: true, settings: { shared_buffers: '1GB', max_wal_size: '8GB' } },
)
