/**
 * Inserts millions of cards, as after a migration from another system: by SQL, on two connections.
 */
import pg from 'pg'
import type { Hsm } from '../src/hsm/contract/hsm.ts'
import { readConfig } from '../src/service/config/config.ts'
import { openHsm } from '../src/service/hsm.ts'
import { openPostgres } from '../src/storage/engine/postgres.ts'
import { findDatabaseDay, makeSlice, slicedTables } from '../src/storage/events/slices.ts'
import type { Bench } from './support.ts'

const batchSize = 5_000
/** Above the positions that the service assigns meanwhile. */
const firstPosition = 1_000_000
/** The number of days over which events are distributed. */
const eventDays = 28
const sliceDays = 5

/** Maps a card's number to its token in no order, as with random tokens. */
const multiplier = 6_180_339_887n
const tokens = 9_000_000_000n
const firstToken = 1_000_000_000n

const composeToken = (number: number): string =>
  String(firstToken + ((BigInt(number) * multiplier) % tokens))

/**
 * One card in a million is lost, one in fifty cancelled, one in ten has the same reference; none
 * has expired.
 */
const insertCards = `
  with given as materialized (
    select token, sealed, $1::bigint + ordinality - 1 as number,
      ($1 + ordinality)::float8 / $4::integer as share
    from unnest($2::text[], $3::text[]) with ordinality as given (token, sealed, ordinality)
  ), dated as materialized (
    select *, now() - (1 - share) * interval '700 days' as created_at,
      now() - (1 - share) * interval '${eventDays} days' as occurred_at
    from given
  ), cards as (
    insert into card (public_token, client_id, product_id, card_type, customer_reference, masked_pan,
      encrypted_pan, personal_data, start_date, expiry_date, line_token, status_code, pvv, pin_key,
      cvk, last_sequence, created_at)
    select token, 'demo-client', 1001, 'Virtual',
      case number % 10 when 0 then 'C-ALL' when 1 then 'C-' || number end, '400000******1234',
      decode(repeat('00', 45), 'hex'), decode(sealed, 'hex'), '2025-01-01',
      (date_trunc('month', now() at time zone 'UTC' + make_interval(months => 2 + (number % 46)::integer))
        - interval '1 day')::date,
      token,
      case when number % 1000000 = 7 then '41' when number % 50 = 0 then '46' else '00' end,
      '1234', 'pvk/1', 'cvk/1', 1, created_at
    from dated on conflict do nothing
    returning public_token
  ), counters as (
    insert into try_counter (public_token, kind, try_limit)
    select public_token, kind, 3 from cards cross join unnest(array['pin', 'cvv']) as kind
  ), fingerprints as (
    insert into pan_fingerprint (pan_fingerprint, public_token)
    select sha256(public_token::bytea), public_token from cards
  ), attempts as (
    insert into authorization_request (public_token, authorization_id, client_id, network_id,
      request_id, reference,
      entry_mode, requested_at, kind, try_number, epoch, result, restored, remaining_tries)
    select token, gen_random_uuid(), 'demo-client', 'demo-network', 'r', '123456789012', 'chip',
      occurred_at, 'pin', 1, 1,
      'match', true, 3
    from dated join cards on public_token = token
  ), events as (
    insert into event (public_token, sequence, event_id, client_id, type, occurred_at, request_id, details, published)
    select token, 1, encode(overlay(uuid_send(gen_random_uuid())
        placing substring(int8send((extract(epoch from occurred_at) * 1000)::bigint) from 3)
        from 1 for 6), 'hex')::uuid,
      'demo-client', case when number % 1000000 = 7 then 'pin.blocked' else 'card.created' end,
      occurred_at, gen_random_uuid()::text,
      '{"cardProduct":1001,"cardType":"Virtual","cardStatusCode":"00"}', true
    from dated join cards on public_token = token
    returning public_token, event_id, type, occurred_at, details
  )
  insert into published_event (client_id, position, event_id, public_token, sequence, type, occurred_at,
    details, published_at)
  select 'demo-client', ${firstPosition} + number, event_id, public_token, 1, type, events.occurred_at, details,
    events.occurred_at
  from events join dated on token = public_token order by number`

const personalData = JSON.stringify({
  embossName: 'ANA LIM',
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-01-02' },
  address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
})

/** The cards whose records can be decrypted. */
export type Sealed = 'all' | 'listed'

/** The cards on the first pages of a list, on those half way, and the rare ones. */
const isListed = (number: number, count: number): boolean =>
  number >= count - listedCards ||
  (number >= count / 2 - listedCards && number < count / 2 + 1_000) ||
  number % 1_000_000 === 7 ||
  number === 11

/** A page has 101 cards, and the rarer filters match one of fifty. */
const listedCards = 6_000

async function sealBatch(
  hsm: Hsm,
  { count, sealed }: Fill,
  from: number,
): Promise<[string[], string[]]> {
  const size = Math.max(0, Math.min(batchSize, count - from))
  const given = Array.from({ length: size }, (_, at) => composeToken(from + at))
  const sealOne = async (token: string) =>
    Buffer.from(await hsm.sealRecord('personal-data', token, personalData)).toString('hex')
  const [first = ''] = await Promise.all(given.slice(0, 1).map(sealOne))
  const records = given.map((token, at) =>
    sealed === 'all' || isListed(from + at, count) ? sealOne(token) : first,
  )
  return [given, await Promise.all(records)]
}

/** The content of a filled database. */
export interface Fill {
  readonly count: number
  readonly sealed: Sealed
  /** Called after each batch, with the share of cards so far. */
  between?(share: number): Promise<void>
}

/**
 * Fills the existing database of a service with cards of the demo client.
 * @returns the public token of one of them.
 */
export async function fillCards(
  { databaseUrl, dataDir }: Pick<Bench, 'databaseUrl' | 'dataDir'>,
  fill: Fill,
): Promise<string> {
  const { between, count } = fill
  const onIdleError = () => undefined
  const database = openPostgres({ connectionString: databaseUrl, poolSize: 2, onIdleError })
  const config = { DATA_DIR: dataDir, DATABASE_URL: databaseUrl, SANDBOX: 'true' }
  const hsm = await openHsm(readConfig(config), database)
  const client = new pg.Client({ connectionString: databaseUrl })
  const other = new pg.Client({ connectionString: databaseUrl })
  await Promise.all([client.connect(), other.connect()])
  try {
    const today = await findDatabaseDay(database)
    for (const table of slicedTables) {
      for (let untilDay = today; untilDay > today - eventDays; untilDay -= sliceDays) {
        await makeSlice(database, { table, fromDay: untilDay - sliceDays, untilDay })
      }
    }
    let from = 0
    const writeOn = async (connection: pg.Client) => {
      while (from < count) {
        const number = from
        from += batchSize
        const values = [number, ...(await sealBatch(hsm, fill, number)), count]
        await connection.query({ name: 'fill', text: insertCards, values })
        if (connection === client) await between?.(Math.min(1, from / count))
      }
    }
    await Promise.all([client, other].map(writeOn))
    await between?.(1)
    await client.query(`insert into feed_head (client_id, last_position)
      values ('demo-client', ${firstPosition + count}) on conflict (client_id)
      do update set last_position = excluded.last_position`)
    await client.query('vacuum analyze')
    await client.query('checkpoint')
  } finally {
    await Promise.all([client.end(), other.end()])
    await database.close()
  }
  return composeToken(0)
}
