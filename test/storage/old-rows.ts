/**
 * Tables full of rows that are due to be forgotten or changed, and what the planner believes of
 * them.
 */
import type pg from 'pg'

/** Rows of each table; a statement may look at a small part of them. */
export const rowsEach = 8_000
export const clientId = 'client'
export const productId = 1
export const productVersion = '00000000-0000-4000-8000-000000000004'
export const webhookId = '00000000-0000-4000-8000-000000000001'
/** Cards are expired by then where they are due. */
export const today = '2030-01-01'
/** No card is expired by then. */
export const earlierDay = '2028-01-01'

type Due = 'due' | 'notDue'

/**
 * The switch of each table: the column that makes a row due, and what it is while it is due and
 * while not.
 */
const switches = {
  card: { column: 'expiry_date', due: `date '2029-01-31'`, notDue: `date '2039-01-31'` },
  idempotency_record: ages('created_at'),
  client_assertion: ages('expires_at'),
  pin_envelope: ages('expires_at'),
  authorization_request: ages('requested_at'),
  decision: ages('asked_at'),
  payment: ages('opened_at'),
  payment_message: ages('received_at'),
  // A minute has few counts.
  authorization_count: countedAt('minute'),
  authorization_hour_count: countedAt('hour'),
  refused_disclosure: ages('minute'),
  event: ages('occurred_at'),
  published_event: ages('published_at'),
  delivery: ages('created_at'),
  client_stream: ages('leased_until'),
  pan_fingerprint: { column: 'key_version', due: '1', notDue: '2' },
  card_limit: { column: 'forget_on_day', due: '10', notDue: '100000' },
  client_limit: { column: 'forget_on_day', due: '10', notDue: '100000' },
  network_transaction: ages('created_at'),
  network_advice: ages('received_at'),
  console_session: ages('started_at'),
  approval: {
    column: 'ended_at',
    due: `now() - interval '900 days'`,
    notDue: `now() + interval '90 days'`,
  },
  decision_signing_key: ages('signs_until'),
  chip: ages('offline_tries_at'),
  // One that brings a PIN has not ended.
  chip_command: {
    column: 'state',
    due: `'pending'`,
    notDue: `case when pin_block is null then 'done' else 'sent' end`,
  },
  card_mistake: { column: 'forget_on_day', due: '10', notDue: '100000' },
  plastic: { column: 'notices_given', due: '0', notDue: '2' },
  // One that is not done never ends.
  renewal_job: {
    column: 'finished_at',
    due: `case when state = 'Done' then now() - interval '90 days' end`,
    notDue: `case when state = 'Done' then now() + interval '90 days' end`,
  },
  renewal_job_card: { column: 'outcome', due: 'null', notDue: `'ordered'` },
} as const

/** A minute or an hour has few counts. */
function countedAt(column: string) {
  const apart = `interval '90 days' + response_code::integer * interval '1 minute'`
  return { column, due: `now() - (${apart})`, notDue: `now() + ${apart}` }
}

function ages(column: string) {
  return { column, due: `now() - interval '90 days'`, notDue: `now() + interval '90 days'` }
}

const numbers = `generate_series(1, ${rowsEach}) as n`
const token = `(1000000000 + n)::text`

/** Fills every table, all of it due or not. */
const fills = (to: Due): string[] => [
  // The product of all cards, which have chips.
  `insert into product (product_id, product_name, scheme_name, bin, currency_code, card_types, validity_months,
     pin_length, pin_revealable, pin_try_limit, cvv_try_limit, chip)
   values (${productId}, 'Product', 'Visa', '400000', 'EUR', '{Physical}', 48, 4, true, 3, 3,
     '{"profile": "visa-cvn18", "keyVersions": {"01": 1}, "missingData": "decline", "fallback": "decline",
       "disagreement": "record", "wrongCardValue": "decline", "atcWindow": 16, "atcJump": 100}')`,
  `insert into card (public_token, client_id, product_id, card_type, masked_pan, encrypted_pan,
     personal_data, start_date, expiry_date, line_token, status_code, pin_block, pin_key, cvk, last_sequence)
   select ${token}, '${clientId}', ${productId}, 'Physical', '400000******1234', '\\x00', '\\x00', '2020-01-01',
     ${switches.card[to]}, ${token}, '00', '\\x00', 'pin-storage/1', 'cvk/1', 1 from ${numbers}`,
  `insert into try_counter (public_token, kind, try_limit)
   select ${token}, kind, 3 from ${numbers} cross join (values ('pin'), ('cvv')) as kinds (kind)`,
  `insert into client_product (client_id, product_id, product_version)
   select case n when 1 then '${clientId}' else 'client-' || n end, ${productId}, '${productVersion}' from ${numbers}`,
  `insert into idempotency_record (client_id, key_hash, request_fingerprint,
     created_at)
   select 'client-' || n % 50, sha256(n::text::bytea), '\\x00', ${switches.idempotency_record[to]} from ${numbers}`,
  `insert into client_assertion (client_id, jti_hash, expires_at)
   select 'client-' || n % 50, decode(md5(n::text), 'hex'), ${switches.client_assertion[to]} from ${numbers}`,
  `insert into pin_envelope (public_token, jti_hash, expires_at)
   select ${token}, sha256(n::text::bytea), ${switches.pin_envelope[to]} from ${numbers}`,
  `insert into authorization_request (public_token, authorization_id, client_id, network_id, request_id, reference, entry_mode,
     requested_at, kind, try_number, epoch, result, remaining_tries, response_code, checks, duration_ms, decided_at)
   select ${token}, md5(n::text)::uuid, '${clientId}', 'network', 'r', 'R-' || n, 'chip', ${switches.authorization_request[to]},
     'pin', 100, 1, 'unresolved', 2, '55', '[]', 1, now() from ${numbers}`,
  // Each card has a decision that waits for an answer, and one that is over.
  `insert into decision (public_token, decision_id, client_id, authorization_id, sequence, purpose,
     endpoint_product_id, endpoint_version, facts, asked_at, deadline, pending, concluded_at, decided_by)
   select ${token}, md5(state || ' ' || n)::uuid, '${clientId}', md5(n::text)::uuid, sequence, 'authorize', 0, 1,
     '{}', ${switches.decision[to]}, now() - interval '1 day',
     case state when 'waiting' then '{"claim":null,"increment":null,"transactionHashes":null}' end,
     case state when 'over' then now() end, case state when 'over' then 'endpoint' end
   from ${numbers} cross join (values ('over', 1), ('waiting', 2)) as states (state, sequence)`,
  // Each card has a hold that is due, and a payment that holds nothing.
  `insert into payment (public_token, payment_id, client_id, network_id, network_transaction_id, opened_by,
     currency_code, approved, hold_expires_at, opened_at)
   select ${token}, md5('open ' || n)::uuid, '${clientId}', 'network', 'O-' || n, 'authorization', 'EUR', 100,
     now() - interval '1 day', ${switches.payment[to]} from ${numbers}`,
  `insert into payment (public_token, payment_id, client_id, network_id, network_transaction_id, opened_by,
     currency_code, approved, cleared, is_final, hold_expires_at, message_count, opened_at)
   select ${token}, md5('closed ' || n)::uuid, '${clientId}', 'network', 'C-' || n, 'authorization', 'EUR', 100,
     100, true, now() - interval '1 day', 1, ${switches.payment[to]} from ${numbers}`,
  `insert into payment_message (public_token, message_id, payment_id, position, kind, network_id, message_key,
     network_transaction_id, effect, amount, applied, currency_code, received_at)
   select ${token}, md5('early ' || n)::uuid, null, 0, 'reversal', 'network', 'early ' || n, 'E-' || n, 'remember',
     0, 0, 'EUR', ${switches.payment_message[to]} from ${numbers}`,
  `insert into payment_message (public_token, message_id, payment_id, position, kind, network_id, message_key,
     network_transaction_id, effect, amount, applied, currency_code, received_at)
   select ${token}, md5('message ' || n)::uuid, md5('closed ' || n)::uuid, 1, 'clearing', 'network',
     'message ' || n, 'C-' || n, 'clearFinal', 100, 100, 'EUR', ${switches.payment_message[to]} from ${numbers}`,
  // An endpoint with many versions.
  `insert into decision_endpoint (client_id, product_id, version, timeout_ms, max_in_flight, on_timeout, on_error,
     mode, sample_percent, format, api_version)
   select '${clientId}', ${productId}, n, 1500, 100, 'decline', 'decline', 'enforce', 100, 'pinfold', '2026-11-20'
   from ${numbers}`,
  `insert into decision_endpoint_state (client_id, product_id, draft_version, enforced_version, previous_version,
     shadow_version)
   select case n when ${productId} then '${clientId}' else 'client-' || n end, n, 7900, 7899, 7898, 7897 from ${numbers}`,
  `insert into decision_signing_key (client_id, key_id, sealed_keys, public_key, signs_until)
   select 'client-' || n, 'dk_' || n, '', 'whpk_', ${switches.decision_signing_key[to]} from ${numbers}`,
  `insert into authorization_count (minute, client_id, response_code, count)
   select ${switches.authorization_count[to]}, '${clientId}', response_code, 1
   from (select n::text as response_code from ${numbers}) as numbered`,
  `insert into authorization_hour_count (hour, client_id, response_code, count)
   select ${switches.authorization_hour_count[to]}, '${clientId}', response_code, 1
   from (select n::text as response_code from ${numbers}) as numbered`,
  `insert into refused_disclosure (minute, client_id, public_token, act, includes_pin, outcome, reason, count,
     first_at, last_at, request_id)
   select ${switches.refused_disclosure[to]}, '${clientId}', ${token}, 'pin.revealed', true, 'refused', 'rate_limited',
     1, now(), now(), 'r' from ${numbers}`,
  `insert into event (public_token, sequence, client_id, type, details, published, occurred_at)
   select ${token}, 1, '${clientId}', 'card.created', '{}', true, ${switches.event[to]} from ${numbers}`,
  `insert into published_event (client_id, position, event_id, public_token, sequence, type,
     occurred_at, details, published_at)
   select '${clientId}', n, gen_random_uuid(), ${token}, 1, 'card.created',
     now() + make_interval(days => 2 * n / 100) - interval '50 days', '{}', ${switches.published_event[to]}
   from generate_series(1, ${2 * rowsEach}) as n`,
  `insert into feed_head (client_id, last_position) values ('${clientId}', ${2 * rowsEach})`,
  `insert into webhook (client_id, webhook_id, url, events, secret, replay_after, replay_from)
   values ('${clientId}', '${webhookId}', 'https://example.com', '{*}', '\\x00', 0, 0)`,
  `insert into delivery_queue (client_id, webhook_id) values ('${clientId}', '${webhookId}')`,
  `insert into delivery (client_id, webhook_id, position, event_id, type, group_key, status,
     created_at)
   select '${clientId}', '${webhookId}', n, gen_random_uuid(), 'card.created', ${token},
     case when n <= ${rowsEach} then 'Failed' else 'Pending' end, ${switches.delivery[to]}
   from generate_series(1, ${2 * rowsEach}) as n`,
  `insert into delivery_group (client_id, webhook_id, group_key, pending, due_at)
   select '${clientId}', '${webhookId}', ${token}, 1, now()
   from generate_series(${rowsEach} + 1, ${2 * rowsEach}) as n`,
  `insert into client_stream (client_id, scope, slot, holder, leased_until)
   select 'client-' || n / 10, 'events.read', n % 10 + 1, gen_random_uuid(), ${switches.client_stream[to]}
   from ${numbers}`,
  `insert into hsm_key (key_name, key_version, state, key_block, key_check_value, retired_at)
   values ('pan-fingerprint', 1, 'retired', '', '', now() - interval '1 day')`,
  `insert into pan_fingerprint (pan_fingerprint, public_token, key_version)
   select sha256(n::text::bytea), ${token}, ${switches.pan_fingerprint[to]} from ${numbers}`,
  `insert into card_limit (public_token, limit_name, last_uses, newest_uses, forget_on_day)
   select ${token}, 'reveal', '{1}', 1, ${switches.card_limit[to]} from ${numbers}`,
  `insert into chip (public_token, pan_sequence_number, highest_atc, seen_atcs, key_version,
     offline_tries_at)
   select ${token}, '00', 100, 1, 1, ${switches.chip[to]} from ${numbers}`,
  `insert into stripe_counter (public_token, highest_atc, seen_atcs, expiry_date)
   select ${token}, 100, 1, '2099-12-31' from ${numbers}`,
  `insert into chip_command (public_token, command_number, command, pin_block, pin_key, state)
   select ${token}, number, command, pin_block, pin_key, ${switches.chip_command[to]}
   from ${numbers} cross join (values (1001, 'unblock_pin', null, null),
     (1002, 'change_pin', '\\x00'::bytea, 'pin-storage/1')) as commands (number, command, pin_block, pin_key)`,
  `insert into card_mistake (public_token, client_id, kind, given_at, forget_on_day)
   select ${token}, 'network', 'expiry', '{1}', ${switches.card_mistake[to]} from ${numbers}`,
  `insert into network_transaction (network_id, transaction_hash, message_class, trace, transmitted_at,
     acquirer, created_at)
   select 'client-1', sha256(n::text::bytea), '1', lpad(n::text, 6, '0'), '1122170000', '',
     ${switches.network_transaction[to]} from ${numbers}`,
  `insert into network_advice (network_id, advice_hash, link_name, message_type, is_matched, received_at)
   select 'client-1', sha256(n::text::bytea), 'link', '0120', true, ${switches.network_advice[to]} from ${numbers}`,
  `insert into person (person_id, issuer, subject, display_name, roles)
   select 'person-' || lpad(n::text, 40, '0'), 'https://issuer.test', n::text, 'Somebody', '{}' from ${numbers}`,
  `insert into console_session (person_id, secret_hash, sign_in_hash, roles, authenticated_at, started_at)
   select 'person-' || lpad(n::text, 40, '0'), sha256(n::text::bytea), sha256(n::text::bytea), '{}', now(),
     ${switches.console_session[to]} from ${numbers}`,
  `insert into approval (approval_id, kind, state, method, path, access, payload_hash, subject, state_digest,
     requester_id, request_id, requested_at, decider_id, decided_at, outcome_status, ended_at)
   select md5(n::text)::uuid, 'erasure', 'done', 'POST', '/audit/erasures', '{admin}', sha256(n::text::bytea), '{}',
     sha256(''), 'client-' || n, 'r', now() - n * interval '1 second', 'person', now(), 202,
     ${switches.approval[to]} from ${numbers}`,
  // Of its plastics, the bureau has taken every other, each batch of a hundred.
  `insert into plastic (public_token, plastic_number, card_type, reason, state, start_date, expiry_date,
     delivery_status, batch_id, ordered_at, notices_given)
   select ${token}, 0, 'Physical', 'Issue', 'Current', '2020-01-01', '2029-01-31',
     case when n % 2 = 0 then 'Ordered' else 'Produced' end,
     case when n % 2 = 1 then md5('batch ' || n / 200)::uuid end, now() - n * interval '1 second',
     ${switches.plastic[to]} from ${numbers}`,
  `insert into bureau_batch (batch_id, client_id, taken_at, plastic_count)
   select md5('batch ' || n)::uuid, '${clientId}', now(), 100 from generate_series(0, ${rowsEach} / 200) as n`,
  `insert into card_metadata (public_token, key, value, client_id, created_at)
   select ${token}, key, '4711', '${clientId}', now() from ${numbers}
   cross join (values ('costCentre'), ('team')) as keys (key)`,
  `insert into renewal_job (job_id, client_id, product_id, expiring_before, is_dry_run, request_id, state,
     finished_at)
   select job_id, '${clientId}', ${productId}, '${today}', false, 'r', state, ${switches.renewal_job[to]}
   from (
     select md5('job ' || n)::uuid as job_id, case when n % 2 = 0 then 'Working' else 'Done' end as state
     from ${numbers}
   ) as jobs`,
  // Jobs of a hundred cards.
  `insert into renewal_job_card (public_token, job_id, outcome)
   select ${token}, md5('job ' || n / 100)::uuid, ${switches.renewal_job_card[to]} from ${numbers}`,
  `insert into client_limit (client_id, limit_name, last_uses, newest_uses, forget_on_day)
   select 'client-' || n, 'reveal', '{1}', 1, ${switches.client_limit[to]} from ${numbers}`,
]

/** Where the rows of a table lie: the outbox and the feed have slices, beside what has none. */
const partsOf = (table: string): readonly string[] =>
  table === 'event' || table === 'published_event'
    ? [`${table}_default`, ...slices.map((slice) => `${table}_${slice}`)]
    : [table]

const slices = ['near', 'far'] as const

const makeSlices = async (client: pg.Client): Promise<void> => {
  for (const table of ['event', 'published_event']) {
    for (const [at, slice] of slices.entries()) {
      await client.query(`create table if not exists ${table}_${slice} partition of ${table}
        for values from (date_trunc('day', now()) + ${at} * interval '100 days')
        to (date_trunc('day', now()) + ${at + 1} * interval '100 days')`)
    }
  }
}

const fill = async (client: pg.Client, to: Due): Promise<void> => {
  await makeSlices(client)
  for (const table of Object.keys(switches).flatMap(partsOf)) {
    await client.query(`alter table ${table} set (autovacuum_enabled = false)`)
  }
  for (const text of fills(to)) await client.query(text)
}

/** Makes rows due or not: all of each table, or the last few of it, or all but those. */
const turn = async (client: pg.Client, to: Due, which: 'all' | 'last' | 'allButLast' = 'all') => {
  for (const [table, { column, ...values }] of Object.entries(switches)) {
    // In slices a place is not a row's alone.
    const place = partsOf(table).length > 1 ? 'event_id' : 'ctid'
    const last = `array(select ${place} from ${table} order by ctid desc limit 5)`
    const where = {
      all: '',
      last: `where ${place} = any(${last})`,
      allButLast: `where ${place} <> all(${last})`,
    }
    await client.query(`update ${table} set ${column} = ${values[to]} ${where[which]}`)
  }
}

/** What the planner believes, and what is so: each brings an empty schema there. */
export const beliefs: Readonly<Record<string, (client: pg.Client) => Promise<void>>> = {
  'that was analyzed while it was empty': async (client) => {
    await client.query('analyze')
    await fill(client, 'due')
  },
  // It was vacuumed when it had been emptied but for one row, and kept its pages.
  'that is taken for one row': async (client) => {
    await makeSlices(client)
    for (const table of Object.keys(switches).flatMap(partsOf)) {
      await client.query(`alter table ${table} set (fillfactor = 10)`)
    }
    await client.query('analyze')
    await fill(client, 'due')
    await client.query(
      `update pg_class set reltuples = 1, relpages = pg_relation_size(oid) / 8192
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'i')`,
    )
  },
  'that was analyzed before anything was due': async (client) => {
    await fill(client, 'notDue')
    await client.query('analyze')
    await turn(client, 'due')
  },
  'that was analyzed while little was due': async (client) => {
    await fill(client, 'notDue')
    await turn(client, 'due', 'last')
    await client.query('analyze')
    await turn(client, 'due')
  },
  'that was analyzed while all was due, of which little is left': async (client) => {
    await fill(client, 'due')
    await client.query('analyze')
    await turn(client, 'notDue', 'allButLast')
    await client.query('vacuum')
  },
  'that is known as it is': async (client) => {
    await fill(client, 'due')
    await client.query('vacuum analyze')
  },
}
