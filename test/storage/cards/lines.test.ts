import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { client, product } from '../../support/builders.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openServerDatabase } from '../../support/service.ts'
import { collectPlans, rowsRead, tellPlans } from '../../support/told-plans.ts'

const postgres = await openPostgres()
const skip = postgres.leftOut

/** A line of so many cards, among as many cards that are alone. */
const cardsOfLine = 5_000
const page = 10
const productId = 2600

let session: pg.Client

before(async () => {
  if (postgres.leftOut) return
  const { database, url } = await openServerDatabase(postgres, 1)
  await product(database, { productId }, await client(database))
  session = new pg.Client({ connectionString: url })
  // The database is dropped with all its sessions.
  session.on('error', () => undefined)
  await session.connect()
  for (const table of ['card', 'plastic', 'card_line']) {
    await session.query(`alter table ${table} set (autovacuum_enabled = false)`)
  }
  await session.query(`
    insert into card (public_token, client_id, product_id, card_type, masked_pan, encrypted_pan,
      personal_data, start_date, expiry_date, line_token, generation, status_code, pvv, pin_key, cvk)
    select (1000000000 + number)::text, 'big', ${productId}, 'Virtual', '400000******1234', '', '',
      '2026-01-01', '2030-11-30',
      case when number < ${cardsOfLine} then '1000000000' else (1000000000 + number)::text end,
      case when number < ${cardsOfLine} then number else 0 end, '46', '1234', 'pvk/1', 'cvk/1'
    from generate_series(0, ${2 * cardsOfLine - 1}) as number;
    insert into card_line (public_token, generation, successor_token, replaced_token, reason,
      is_pin_requested)
    select line_token, generation, public_token, (public_token::bigint - 1)::text, 'Damaged', false
    from card where generation > 0;
    insert into plastic (public_token, plastic_number, card_type, reason, state, start_date,
      expiry_date)
    select public_token, 0, card_type, 'Issue', 'Current', start_date, expiry_date from card`)
  await session.query(tellPlans)
})
after(() => session?.end())

const statistics = {
  'without statistics': 'select 1',
  'with statistics': 'analyze card, plastic, card_line',
  'with those of empty tables': `update pg_class set reltuples = 0, relpages = 0
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'i')`,
}

for (const [belief, bring] of Object.entries(statistics)) {
  test(`a page of a long line reads only its cards, ${belief}`, { skip }, async () => {
    await session.query(bring)
    for (const mode of ['force_generic_plan', 'force_custom_plan']) {
      await session.query(`set plan_cache_mode = ${mode}`)
      for (const before of [2_147_483_647, 100, 1]) {
        const call = `select * from list_line('1000000000', ${before}, ${page})`
        const plans = await collectPlans(session, () => session.query(call))
        const rows = plans.reduce((sum, plan) => sum + rowsRead(plan), 0)
        assert.ok(rows > 0 && rows <= 8 * page, `${mode}, before ${before}: ${rows} rows`)
      }
    }
  })
}
