import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { type CardStatusCode, cardStatusCodes, isFinal } from '../../../src/domain/card-status.ts'
import { makeProductId } from '../../../src/domain/identifiers.ts'
import { listKeyActRows, listOperatorActRows, newestAct } from '../../../src/storage/acts/acts.ts'
import { listOperatorEntryRows } from '../../../src/storage/audit-log/operator-entries.ts'
import {
  findAuthorizations,
  listAuthorizations,
  listClientAuthorizations,
  listNewestAuthorizations,
  searchAuthorizations,
} from '../../../src/storage/authorizations/records.ts'
import { listAttemptRows } from '../../../src/storage/authorizations/tries.ts'
import { type CardFilter, type CardKind, listCardRows } from '../../../src/storage/cards/lists.ts'
import { searchCards } from '../../../src/storage/cards/search.ts'
import {
  findStatusEvent,
  listActsOnCard,
  listCardEvents,
  listTimelineRows,
  newestPosition,
} from '../../../src/storage/cards/timeline.ts'
import {
  type Connection,
  type Database,
  randomPageCost,
  type SqlValue,
  type Statement,
} from '../../../src/storage/engine/database.ts'
import { listPublishedEvents } from '../../../src/storage/events/feed.ts'
import {
  findCardPayment,
  findPaymentOfAnyClient,
  listCardPayments,
  searchPayments,
} from '../../../src/storage/payments/payments.ts'
import { hasCards } from '../../../src/storage/products/products.ts'
import { listNextCards, type UndoneJob } from '../../../src/storage/renewals/jobs.ts'
import { listDeliveryRows } from '../../../src/storage/webhooks/deliveries.ts'
import { replayWebhook } from '../../../src/storage/webhooks/webhooks.ts'
import { parsePublicToken } from '../../support/identifiers.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openServerDatabase } from '../../support/service.ts'
import { collectPlans, type Plan, rowsRead, tellPlans } from '../../support/told-plans.ts'

const postgres = await openPostgres()
const skip = postgres.leftOut
const manyRows = 20_000
/** Of all tables and indexes together: a page has 101 rows, each with two counters. */
const rowsLookedAtMax = 3_000
const today = '2030-06-15'
/** Of the feed: some days each, and what comes after them. */
const slices = ['feed_1', 'feed_2', 'feed_3']
const feedParts = [...slices, 'published_event_default']
const [big, webhookId] = ['big', '0190b5f0-0000-7000-8000-000000000001']

let session: pg.Client

before(async () => {
  if (postgres.leftOut) return
  const { url } = await openServerDatabase(postgres)
  session = new pg.Client({ connectionString: url, types: { getTypeParser: () => String } })
  // The database is dropped with all its sessions.
  session.on('error', () => undefined)
  await session.connect()
  await session.query(`set random_page_cost = ${randomPageCost}`)
  await session.query(tellPlans)
  // What the planner believes is what a test says, and not what was there when statistics happened
  // to be taken.
  for (const [at, slice] of slices.entries()) {
    await session.query(`create table ${slice} partition of published_event for values
      from ('2026-01-01'::date + ${4 * at}) to ('2026-01-01'::date + ${4 * at + 4})`)
  }
  const tables = [
    'card',
    'try_counter',
    'plastic',
    'card_metadata',
    'authorization_request',
    'payment',
    'event_default',
    ...feedParts,
    'delivery',
    'delivery_group',
    'audit_act',
    'audit_entry',
  ]
  for (const table of tables) {
    await session.query(`alter table ${table} set (autovacuum_enabled = false)`)
  }
})
after(() => session?.end())

/** Cards of one client, all of them active and of one reference, that expire on one day. */
const fillCards = (count: number, expiryDate: string, from = 0) =>
  session.query(`
    insert into product (product_id, product_name, scheme_name, bin, currency_code, card_types,
      validity_months, pin_length, pin_revealable, pin_try_limit, cvv_try_limit)
    values (1, 'One', 'Visa', '400000', 'EUR', '{Virtual}', 48, 4, true, 3, 3)
    on conflict do nothing;
    insert into card (public_token, client_id, product_id, card_type, customer_reference, masked_pan,
      encrypted_pan, personal_data, start_date, expiry_date, line_token, status_code, pvv, pin_key, cvk,
      created_at)
    select 1000000000 + number, '${big}', 1, 'Virtual', 'C-1', '400000******1234', '', '',
      '2026-01-01', '${expiryDate}', (1000000000 + number)::text, '00', '1234', 'pvk/1', 'cvk/1',
      '2026-01-01'::timestamptz + make_interval(secs => number)
    from generate_series(${from + 1}, ${from + count}) as number;
    insert into try_counter (public_token, kind, try_limit)
    select public_token, kind, 3 from card cross join unnest(array['pin', 'cvv']) as kind
    on conflict do nothing;
    insert into plastic (public_token, plastic_number, card_type, reason, state, start_date, expiry_date)
    select public_token, number, 'Virtual', 'Issue', case number when 0 then 'Current' else 'Waiting' end,
      start_date, expiry_date
    from card cross join generate_series(0, 1) as number
    on conflict do nothing;
    insert into card_metadata (public_token, key, value, client_id, created_at)
    select public_token, key, '4711', client_id, created_at
    from card cross join unnest(array['costCentre', 'team']) as key
    on conflict do nothing`)

const fillFeed = (count: number) =>
  session.query(`
    insert into published_event (client_id, position, event_id, public_token, sequence, type,
      occurred_at, details)
    select '${big}', number, gen_random_uuid(), '1000000001', number, 'card.created',
      '2026-01-01'::timestamptz + make_interval(mins => number), '{}'
    from generate_series(1, ${count}) as number;
    insert into delivery (client_id, webhook_id, position, event_id, type, group_key)
    select '${big}', '${webhookId}', number, gen_random_uuid(), 'card.created', number::text
    from generate_series(1, ${count}) as number;
    insert into delivery_group (client_id, webhook_id, group_key, pending, due_at)
    select '${big}', '${webhookId}', number::text, 1, now()
    from generate_series(1, ${count}) as number;
    insert into event (public_token, sequence, client_id, type, details, note, occurred_at)
    select '1000000001', number, '${big}', 'card.status_changed', '{}', '',
      '2026-01-01'::timestamptz + make_interval(secs => number)
    from generate_series(1, ${count}) as number;
    insert into authorization_request (public_token, authorization_id, client_id, network_id, request_id, reference,
      entry_mode, requested_at, kind, try_number, epoch, result, remaining_tries, response_code, checks,
      duration_ms, decided_at)
    select '1000000001', lpad(to_hex(number), 32, '0')::uuid, '${big}', 'network', 'r', 'R-1', 'chip',
      '2026-01-01'::timestamptz + make_interval(secs => number), 'pin', number, 1, 'mismatch', 2, '55',
      '[]', 1, now()
    from generate_series(1, ${count}) as number`)

/** Payments of one card under one id of a network, and as many of other cards. */
const fillPayments = (count: number) =>
  session.query(`
    insert into client (client_id, client_name, kind, scopes)
    select 'client-' || number, 'Client', 'client', '{}' from generate_series(1, 50) as number
    on conflict do nothing;
    insert into payment (public_token, payment_id, client_id, network_id, network_transaction_id,
      opened_by, currency_code, approved, hold_expires_at)
    select case when number % 2 = 0 then '1000000001' else (1000000001 + number)::text end,
      lpad(to_hex(number), 32, '0')::uuid, 'client-' || number % 50, 'network', 'N-1',
      'authorization', 'EUR', 100, now()
    from generate_series(1, ${count}) as number`)

/** Of acts, one in so many is on a key. */
const fillActs = (count: number) =>
  session.query(`
    insert into audit_act (acted_at, act, subject_kind, subject, details, client_id, request_id)
    select '2026-01-01'::timestamptz + make_interval(secs => number), 'changed',
      case when number % ${count / 4} = 0 then 'key' when number % 2 = 0 then 'card' else 'client' end,
      case when number % 2 = 0 then '1000000001' else 'subject' end, '{}', 'admin', 'r'
    from generate_series(1, ${count}) as number;
    insert into audit_entry (log, entry_index, entry_id, client_id, public_token, act, by_operator,
      entered_at, commitment)
    select 1, number, gen_random_uuid(), case when number % 2 = 0 then 'admin' else 'client' end,
      case when number % 4 = 0 then '1000000001' end,
      case when number % 3 = 0 then 'changed' else 'created' end, number % 2 = 0,
      '2026-01-01'::timestamptz + make_interval(secs => number), decode(repeat('00', 32), 'hex')
    from generate_series(1, ${count}) as number`)

const empty = () =>
  session.query(
    'truncate card, authorization_request, payment, client, event, published_event, delivery, delivery_group, audit_act, audit_entry cascade',
  )

const outlineOf = (plan: Plan, indent = ''): string =>
  [
    `${indent}${plan['Node Type']} ${plan['Index Name'] ?? plan['Relation Name'] ?? ''}: ${rowsRead(plan)}`,
    ...(plan.Plans ?? []).map((each) => outlineOf(each, `${indent}  `)),
  ].join('\n')

const literal = (value: SqlValue): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `'{${value.join()}}'`
  return pg.escapeLiteral(String(value))
}

/** What a read asks of a database. */
type Asked = Connection & Pick<Database, 'isCluster'>

/** What a read of the storage comes by: each of its statements, and those of functions. */
async function explained(read: (connection: Asked) => Promise<unknown>) {
  let looked = 0
  const plans: string[] = []
  const connection: Asked = {
    isCluster: () => false,
    async query<Row>({ name, text }: Statement, values: readonly SqlValue[] = []) {
      await session.query(`prepare ${name} as ${text}`)
      const given = values.length === 0 ? '' : `(${values.map(literal).join()})`
      await session.query('begin')
      const executed = await collectPlans(session, () => session.query(`execute ${name} ${given}`))
      await session.query('rollback')
      const answer = await session.query(`execute ${name} ${given}`)
      await session.query(`deallocate ${name}`)
      for (const plan of executed) {
        looked += rowsRead(plan)
        plans.push(`${name}\n${outlineOf(plan)}`)
      }
      return answer.rows as Row[]
    },
    script: () => assert.fail('A read runs no script.'),
  }
  const result = await read(connection)
  return { looked, plans: plans.join('\n'), result }
}

const pageOf = (filter: Partial<CardFilter>): CardFilter => ({
  customerReference: null,
  statusCode: null,
  today,
  after: null,
  limit: 100,
  ...filter,
})

const card = parsePublicToken('1000000001')
const deep = {
  createdAt: '2026-01-01T00:00:30.000000Z',
  publicToken: parsePublicToken('1000000030'),
}

const kinds: readonly CardKind[] = [
  { cardType: 'Virtual' },
  { cardType: 'Physical' },
  { productId: makeProductId(1), cardType: null },
  { productId: makeProductId(1), cardType: 'Virtual' },
  { key: 'costCentre', value: '4711' },
  { expiringBefore: '2999-01-01' },
]

/** A job that has not listed its cards. */
const job: UndoneJob = {
  jobId: '00000000-0000-4000-8000-000000000001',
  clientId: big,
  productId: makeProductId(1),
  expiringBefore: '2030-12-01',
  isDryRun: true,
  requestId: 'r',
  state: 'Listing',
  listedCardType: '~',
  listedCreatedAt: 'infinity',
  listedToken: '',
}

/**
 * Every list that a client may ask for: from its beginning and from its depth, with and without a
 * match.
 */
const reads: readonly (readonly [string, (connection: Asked) => Promise<unknown>])[] = [
  ...[null, deep].flatMap((after) =>
    [null, 'C-1', 'none'].flatMap((customerReference) =>
      [null, ...cardStatusCodes].map((statusCode: CardStatusCode | null) => {
        const filter = pageOf({ after, customerReference, statusCode })
        return [
          `cards ${statusCode ?? 'of all statuses'}, ${customerReference ?? 'of all'}, after ${after?.publicToken}`,
          (connection: Asked) => listCardRows(connection, big, filter),
        ] as const
      }),
    ),
  ),
  ...[null, deep].flatMap((after) =>
    kinds.map((kind) => {
      const filter = pageOf({ after, kind })
      return [
        `cards of ${JSON.stringify(kind)}, after ${after?.publicToken}`,
        (connection: Asked) => listCardRows(connection, big, filter),
      ] as const
    }),
  ),
  ...['0', '19990'].flatMap((after) =>
    [null, ['card.created'], ['pin.blocked', 'cvv.blocked'], ['card.created', 'pin.blocked']].map(
      (types) =>
        [
          `events ${types}, after ${after}`,
          (connection: Connection) =>
            listPublishedEvents(connection, big, { after, types: types as never, limit: 101 }),
        ] as const,
    ),
  ),
  ...[null, '30'].map(
    (before) =>
      [
        `deliveries before ${before}`,
        (connection: Connection) =>
          listDeliveryRows(connection, { clientId: big, webhookId }, before, 101),
      ] as const,
  ),
  ...[null, { pin: 10_000, cvv: 1 }].map(
    (after) =>
      [
        `attempts before ${after?.pin}`,
        (connection: Connection) =>
          listAttemptRows(connection, parsePublicToken('1000000001'), big, { after, limit: 101 }),
      ] as const,
  ),
  ...[newestAct, { ...newestAct, at: '2026-01-01T00:00:30Z' }].flatMap(
    (after) =>
      [
        [
          `acts of operators after ${after.at}`,
          (connection: Connection) => listOperatorActRows(connection, after, 101),
        ],
        [
          `acts on keys after ${after.at}`,
          (connection: Connection) => listKeyActRows(connection, after, 101),
        ],
      ] as const,
  ),
  ...['infinity', '2026-01-01T02:00:00Z'].flatMap((at) =>
    [
      {},
      { clientId: 'admin' },
      { act: 'changed' },
      { clientId: 'admin', act: 'changed' },
      { publicToken: '1000000001' },
      { clientId: 'nobody' },
    ].flatMap((filter) =>
      [null, '2026-01-01T01:00:00Z'].map(
        (from) =>
          [
            `entries of operators by ${JSON.stringify(filter)} from ${from} before ${at}`,
            (connection: Connection) =>
              listOperatorEntryRows(
                connection,
                { ...filter, from },
                { at, log: 1, index: 7_000 },
                101,
              ),
          ] as const,
      ),
    ),
  ),
  ...['2020-01-01', '2026-01-14T20:00:00Z', '2040-01-01'].map(
    (since) =>
      [
        `a replay since ${since}`,
        (connection: Connection) => replayWebhook(connection, big, webhookId, since),
      ] as const,
  ),
  ...(['panLastFour', 'customerReference'] as const).flatMap((term) =>
    ['1234', 'c-1', '9999'].flatMap((value) =>
      [null, deep].map(
        (after) =>
          [
            `a search by ${term} ${value}, after ${after?.publicToken}`,
            (connection: Connection) => searchCards(connection, term, value, { after, limit: 101 }),
          ] as const,
      ),
    ),
  ),
  ...[null, '00000000-0000-0000-0000-000000001000'].flatMap(
    (before) =>
      [
        [
          `a search by a reference before ${before}`,
          (connection: Connection) =>
            searchAuthorizations(connection, 'R-1', { before, limit: 101 }),
        ],
        [
          `authorizations before ${before}`,
          (connection: Connection) => listAuthorizations(connection, card, { before, limit: 101 }),
        ],
        [
          `authorizations of a client before ${before}`,
          (connection: Connection) =>
            listClientAuthorizations(connection, big, { before, limit: 101 }),
        ],
      ] as const,
  ),
  ...['2026-01-01T00:00:30.000000Z', '9999-12-31T00:00:00.000000Z'].flatMap((recordedAt) =>
    [null, big].map(
      (clientId) =>
        [
          `authorizations of ${clientId ?? 'all cards'} before ${recordedAt}`,
          (connection: Connection) =>
            listNewestAuthorizations(connection, clientId, {
              recordedAt,
              authorizationId: '00000000-0000-0000-0000-000000001000',
            }),
        ] as const,
    ),
  ),
  [
    'authorizations by their keys',
    (connection) =>
      findAuthorizations(
        connection,
        Array.from({ length: 101 }, (_, at) => ({
          publicToken: card,
          authorizationId: `00000000-0000-0000-0000-${String(at).padStart(12, '0')}`,
        })),
      ),
  ],
  ...[null, '00000000-0000-0000-0000-000000001000'].flatMap(
    (before) =>
      [
        [
          `payments of a card before ${before}`,
          (connection: Connection) => listCardPayments(connection, card, { before, limit: 101 }),
        ],
        [
          `a search by a network's id after ${before}`,
          (connection: Connection) => {
            const after = before === null ? null : { publicToken: card, paymentId: before }
            return searchPayments(connection, 'N-1', { after, limit: 101 })
          },
        ],
      ] as const,
  ),
  ...['00000000-0000-0000-0000-000000001000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'].flatMap(
    (id) =>
      [
        [
          `the payment ${id} of a card`,
          (connection: Connection) => findCardPayment(connection, card, id),
        ],
        [
          `the payment ${id} of any client`,
          (connection: Connection) => findPaymentOfAnyClient(connection, id),
        ],
      ] as const,
  ),
  ...[newestPosition, { ...newestPosition, sequence: 10_000, pin: 9_000, act: 5_000 }].flatMap(
    (position) =>
      [
        [
          `what lies with a card before ${position.sequence}`,
          (connection: Connection) => listTimelineRows(connection, card, position),
        ],
        [
          `the events of a card before ${position.sequence}`,
          (connection: Connection) => listCardEvents(connection, big, card, position.sequence),
        ],
        [
          `acts on a card before ${position.act}`,
          (connection: Connection) => listActsOnCard(connection, card, position.act),
        ],
      ] as const,
  ),
  ['what gave a card its status', (connection) => findStatusEvent(connection, big, card)],
  ...['Physical', 'Virtual', '~'].map(
    (listedCardType) =>
      [
        `the cards of a job after ${listedCardType}`,
        (connection: Connection) => listNextCards(connection, { ...job, listedCardType }, today),
      ] as const,
  ),
  ['products of cards', (connection) => hasCards(connection, makeProductId(1))],
  ['products of no cards', (connection) => hasCards(connection, makeProductId(2))],
]

async function assertBounded(isLeftOut: (name: string) => boolean = () => false) {
  for (const mode of ['force_generic_plan', 'force_custom_plan']) {
    await session.query(`set plan_cache_mode = ${mode}`)
    for (const [name, read] of reads) {
      if (isLeftOut(name)) continue
      const { looked, plans } = await explained(read)
      assert.ok(looked <= rowsLookedAtMax, `${name}, ${mode}: ${looked} rows\n${plans}`)
    }
  }
}

const fill = async () => {
  await fillCards(manyRows, '2030-11-30')
  await fillFeed(manyRows)
  await fillActs(manyRows)
  await fillPayments(manyRows)
}

test('no list of cards looks at more than its page before the tables have statistics', {
  skip,
}, async () => {
  await empty()
  await fillCards(manyRows, '2030-11-30')
  await assertBounded((name) => !name.startsWith('cards'))
})

// In this order over the same rows, of which filling in takes longest.
test('no list that a client may ask for looks at more than its page', { skip }, async (t) => {
  await empty()
  await fill()
  await session.query('analyze')
  await t.test('with statistics', () => assertBounded())
  // As they are when the tables were analyzed while they had no row and no page.
  await session.query(
    `update pg_class set reltuples = 0, relpages = 0
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'i')`,
  )
  await t.test('with those of empty tables', () => assertBounded())
})

test('cards that have expired and were not swept, however many, are passed by and found at once', {
  skip,
}, async () => {
  await empty()
  await fillCards(manyRows, '2030-05-31')
  // Within one reference they are passed by one after the other.
  await assertBounded((name) => /^cards (?:00|02|62), C-1/.test(name))
})

test('the statuses of cards that are not closed are those that their indexes have', {
  skip,
}, async () => {
  const { rows } = await session.query<{ condition: string }>(
    `select pg_get_expr(indpred, indrelid) as condition from pg_index
     where indrelid = 'card'::regclass and pg_get_expr(indpred, indrelid) like '%status_code%'`,
  )
  assert.equal(rows.length, 3)
  const open = cardStatusCodes.filter((code) => !isFinal(code))
  for (const { condition } of rows) {
    const excluded = [...condition.matchAll(/'([0-9]{2})'/g)].map(([, code]) => code)
    assert.match(condition, /<> ALL/)
    assert.deepEqual(
      cardStatusCodes.filter((code) => !excluded.includes(code)),
      open,
    )
  }
})
