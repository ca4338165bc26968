/**
 * How long the back-test of a product's spending controls takes with a million recorded
 * authorizations: `npm run bench -- back-test`. `--authorizations 1000000 --cards 20000` set the
 * numbers. Prints the longest time in which no other call was worked on. Compares the result with
 * that of deciding each authorization one by one.
 */
import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import type pg from 'pg'
import { completeProductControls } from '../src/domain/controls.ts'
import {
  type CardSpending,
  decideControls,
  meetLimits,
  nothingSpent,
  takeAmount,
} from '../src/domain/decide-controls.ts'
import { parseProductId } from '../src/domain/identifiers.ts'
import { takeFrom } from '../src/domain/spending.ts'
import { backTestProduct } from '../src/operations/authorizations/back-test.ts'
import {
  readPages,
  toIdRange,
  toRecordedDecision,
} from '../src/operations/authorizations/recorded-pages.ts'
import { type IdRange, listDecidedOfClient } from '../src/storage/authorizations/decided-again.ts'
import type { Database } from '../src/storage/engine/database.ts'
import { openPostgres as openPool } from '../src/storage/engine/postgres.ts'
import { fillCards } from './fill-cards.ts'
import { type Bench, runBench } from './support.ts'

const { values: options } = parseArgs({
  options: {
    authorizations: { type: 'string', default: '1000000' },
    cards: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '3' },
  },
})
const authorizations = Number(options.authorizations)
const day = 86_400_000
const from = new Date('2026-01-01T00:00:00Z')
const to = new Date(from.getTime() + 30 * day)

/** Inserts authorizations of thirty days, in the order of time, over all cards in turn. */
async function fillAuthorizations(client: pg.Client): Promise<void> {
  await client.query('delete from authorization_request')
  await client.query(
    `create temporary table numbered as
     select row_number() over () - 1 as place, public_token from card`,
  )
  await client.query('analyze numbered')
  const { rows } = await client.query<{ cards: string }>('select count(*) as cards from numbered')
  await client.query(
    `insert into authorization_request (public_token, authorization_id, client_id, network_id,
       request_id, reference, entry_mode, transaction_type, amount, currency_code, merchant,
       response_code, checks, duration_ms, requested_at, decided_at)
     select public_token,
       (lpad(to_hex($2::bigint + n * $3::bigint / $1), 12, '0') || '7000' ||
         lpad(to_hex(n), 16, '8'))::uuid,
       'demo-client', 'demo-network', 'r', lpad(n::text, 12, '0'),
       (array['chip', 'contactless', 'ecommerce', 'atm'])[1 + n % 4],
       case when n % 4 = 3 then 'cash' else 'purchase' end,
       1 + n * 7919 % 20000, 'EUR',
       json_build_object('id', 'M' || n % 5000, 'terminalId', 'T1', 'name', 'Bakery of the square',
         'city', 'Madrid', 'country', (array['ESP', 'FRA', 'DEU'])[1 + n % 3],
         'categoryCode', (array['5411', '5812', '7995', '6011', '5541'])[1 + n % 5]),
       case when n % 20 = 0 then '55' when n % 33 = 0 then '57' else '00' end,
       case when n % 20 <> 0 and n % 33 = 0
         then '[{"check":"card","result":"passed","afterMs":1},' ||
           '{"check":"controls","result":"failed","afterMs":1,"control":"channels",' ||
           '"owner":"product","responseCode":"57"}]'
         else '[{"check":"card","result":"passed","afterMs":1},{"check":"status",' ||
           '"result":"passed","afterMs":1,"cardStatusCode":"00"},{"check":"expiry",' ||
           '"result":"passed","afterMs":1},{"check":"pin","result":"passed","afterMs":3,' ||
           '"remainingTries":3}]' end,
       3, to_timestamp($2 / 1000.0), to_timestamp($2 / 1000.0)
     from generate_series(0, $1::bigint - 1) as n
     join numbered on place = n * 7919 % $4
     order by n`,
    [authorizations, from.getTime(), to.getTime() - from.getTime(), rows[0]?.cards],
  )
  await client.query('vacuum analyze')
  await client.query('checkpoint')
}

const controls = {
  timeZone: 'Europe/Madrid',
  merchantCategories: { blocked: ['7995'] },
  countries: { allowed: ['ESP', 'FRA', 'DEU'] },
  limits: [
    { period: 'day', maximumAmount: 30_000 },
    { period: 'month', maximumAmount: 400_000, maximumCount: 60 },
    { period: 'day', channel: 'cash', maximumAmount: 15_000 },
  ],
} as const

/** Decides each authorization by the functions of a dry run, and sums up what they approve. */
async function decideOneByOne(database: Database): Promise<{ count: number; amount: number }> {
  const product = completeProductControls(controls)
  const inForce = { product, card: null, currency: 'EUR' }
  const { timeZone } = product
  const spent = new Map<string, CardSpending>()
  const approved = { count: 0, amount: 0 }
  const list = (range: IdRange) => listDecidedOfClient(database, 'demo-client', range)
  for await (const page of readPages(list, toIdRange({ from, to }))) {
    for (const { at, control, publicToken, responseCode, transaction } of page.map(
      toRecordedDecision,
    )) {
      if (responseCode !== '00' && control === null) continue
      const spending = spent.get(publicToken) ?? nothingSpent
      if (decideControls(inForce, transaction, at, spending).length > 0) continue
      const { windows } = meetLimits({ ...inForce, timeZone }, transaction, at)
      const taking = takeAmount(transaction, 'EUR')
      const after = takeFrom(spending.windows, windows, taking)
      spent.set(publicToken, { windows: after, lockedMerchant: null })
      approved.count += 1
      approved.amount += taking.amount
    }
  }
  return approved
}

async function measureAll(bench: Bench): Promise<void> {
  await bench.startService()
  const client = await bench.connect()
  await fillCards(bench, { count: Number(options.cards), sealed: 'listed' })
  await fillAuthorizations(client)
  const database = openPool({
    connectionString: bench.databaseUrl,
    poolSize: 2,
    onIdleError: () => undefined,
  })
  const productId = parseProductId('1001')
  if (productId === null) throw new Error('No product.')
  try {
    let last: object = {}
    for (let round = 0; round < Number(options.rounds); round += 1) {
      const delay = monitorEventLoopDelay({ resolution: 1 })
      delay.enable()
      const fromMs = performance.now()
      const draft = { from, to, controls }
      const gone = new AbortController().signal
      const { changes, ...answer } = await backTestProduct({ database }, productId, draft, { gone })
      const seconds = (performance.now() - fromMs) / 1_000
      delay.disable()
      if (round === 0) console.log(JSON.stringify({ ...answer, changes: changes.length }))
      last = answer.draft.approved
      const { heapUsed, rss } = process.memoryUsage()
      console.log(
        `${authorizations} authorizations in ${seconds.toFixed(2)} s; ` +
          `slices: p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms, ` +
          `longest ${(delay.max / 1e6).toFixed(1)} ms; ` +
          `heap ${Math.round(heapUsed / 2 ** 20)} MiB, resident ${Math.round(rss / 2 ** 20)} MiB`,
      )
    }
    const fromMs = performance.now()
    assert.deepEqual(last, await decideOneByOne(database))
    const seconds = (performance.now() - fromMs) / 1_000
    console.log(`the same one by one, in ${seconds.toFixed(2)} s`)
  } finally {
    await database.close()
  }
}

await runBench(measureAll, { settings: { shared_buffers: '256MB', max_wal_size: '8GB' } })
