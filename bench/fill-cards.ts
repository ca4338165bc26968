import pg from 'pg'
import { readConfig } from '../src/service/config/config.ts'
import { openHsm } from '../src/service/hsm.ts'
import { openPostgres } from '../src/storage/engine/postgres.ts'
import type { Bench } from './support.ts'

/** A million cards of the demo client, as a bank brings them along: by SQL, each with a record that opens. */

const batchSize = 5_000
const firstToken = 1_000_000_000

const insertCards = `
  with given as (
    select $1::bigint + number - 1 as token, sealed
    from unnest($2::text[]) with ordinality as given (sealed, number)
  ), cards as (
    insert into card (public_token, client_id, product_id, card_type, customer_reference, masked_pan,
      encrypted_pan, personal_data, start_date, expiry_date, status_code, pvv, pin_key, cvk, created_at)
    select token::text, 'demo-client', 1001, 'Virtual', 'C-' || token % 5, '400000******1234', '',
      decode(sealed, 'hex'), '2025-01-01',
      (date_trunc('month', '2028-02-01'::timestamp + make_interval(months => (token % 48)::integer))
        - interval '1 day')::date,
      case when token % 50 = 0 then '46' else '00' end, '1234', 'pvk/1', 'cvk/1',
      '2025-01-01'::timestamptz + make_interval(secs => (token - ${firstToken}) * 30)
    from given returning public_token, client_id, created_at
  ), counters as (
    insert into try_counter (public_token, kind, try_limit)
    select public_token, kind, 3 from cards cross join unnest(array['pin', 'cvv']) as kind
  )
  insert into published_event (client_id, position, event_id, public_token, sequence, type, occurred_at,
    details)
  select client_id, 1000 + public_token::bigint - ${firstToken}, gen_random_uuid(), public_token, 1,
    'card.created', created_at, '{}' from cards`

const personalData = JSON.stringify({
  embossName: 'ANA LIM',
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-01-02' },
  address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
})

/** @returns the public token of one of them. */
export async function fillCards({ databaseUrl, dataDir }: Bench, count: number): Promise<string> {
  const database = openPostgres({
    connectionString: databaseUrl,
    poolSize: 2,
    onIdleError: () => undefined,
  })
  const hsm = await openHsm(
    readConfig({ DATA_DIR: dataDir, DATABASE_URL: databaseUrl, SANDBOX: 'true' }),
    database,
  )
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    for (let from = firstToken; from < firstToken + count; from += batchSize) {
      const size = Math.min(batchSize, firstToken + count - from)
      const sealed = await Promise.all(
        Array.from({ length: size }, (_, at) =>
          hsm.sealRecord('personal-data', String(from + at), personalData),
        ),
      )
      const values = sealed.map((bytes) => Buffer.from(bytes).toString('hex'))
      await client.query({ name: 'fill', text: insertCards, values: [from, values] })
    }
    await client.query(`insert into feed_head (client_id, last_position)
      values ('demo-client', ${count + 1_000}) on conflict (client_id)
      do update set last_position = excluded.last_position`)
    await client.query('analyze')
  } finally {
    await client.end()
    await database.close()
  }
  return String(firstToken)
}
