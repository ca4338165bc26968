import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { findChip } from '../../../src/storage/chips/find-chip.ts'
import { databaseEngines } from '../../support/engines.ts'
import { sql } from '../../support/service.ts'
import { database, makeCard, useTriedCards } from '../authorizations/tried-cards.ts'

const networkId = 'network'
const productChip = JSON.stringify({ profile: 'visa-cvn18', atcWindow: 16 })

/** What a card can have been through before it is read; `$1` is its token. */
const cards: Readonly<Record<string, string>> = {
  'a card without a past': 'select $1::text',
  'two chips': `insert into chip (public_token, pan_sequence_number, highest_atc, seen_atcs, key_version)
    values ($1, '00', 9, 1, 1), ($1, '01', 4, 1, 2)`,
  'a chip with the counter': `insert into chip (public_token, pan_sequence_number, highest_atc, seen_atcs, contact_atc, key_version)
    values ($1, '00', 7, 1, 6, 1)`,
  'a stripe': `insert into stripe_counter (public_token, highest_atc, seen_atcs, expiry_date)
    values ($1, 30, 1, '2099-12-31')`,
  'waiting commands': `insert into chip_command (public_token, command_number, command, data_object, state)
    values ($1, 2, 'put_data', '\\x9f7901', 'pending'), ($1, 1, 'unblock_pin', null, 'done'),
      ($1, 3, 'block_application', null, 'sent')`,
  'ten wrong values of stripes': `insert into card_mistake (public_token, client_id, kind, given_at, forget_on_day)
    values ($1, 'network', 'card_value', array_fill(9e15::bigint, array[10]), 1)`,
  'ten wrong CAVVs': `insert into card_mistake (public_token, client_id, kind, given_at, forget_on_day)
    values ($1, 'network', 'cavv', array_fill(9e15::bigint, array[10]), 1)`,
  'wrong CAVVs of another network': `insert into card_mistake (public_token, client_id, kind, given_at, forget_on_day)
    values ($1, 'other', 'cavv', array_fill(9e15::bigint, array[10]), 1)`,
  'old wrong CAVVs': `insert into card_mistake (public_token, client_id, kind, given_at, forget_on_day)
    values ($1, 'network', 'cavv', array_fill(1::bigint, array[10]), 1)`,
  'no card': `with counters as (delete from try_counter where public_token = $1)
    delete from card where public_token = $1`,
}

const read = { panSequenceNumber: '00', atc: 7 }

/** What a request can have of a card. */
const keys = {
  'a chip': { read, networkId: null },
  'a stripe': { read: null, networkId },
  'a chip and a stripe': { read, networkId },
}

for (const { name, open, skip } of databaseEngines) {
  suite(`chips and stripes of many cards in one turn of the event loop, on ${name}`, {
    skip,
  }, () => {
    useTriedCards(open)
    for (const [given, key] of Object.entries(keys)) {
      test(`a request with ${given} reads what it reads alone`, async () => {
        await sql(database, 'update product set chip = $1::text::jsonb', [productChip])
        const tokens = []
        for (const change of Object.values(cards)) {
          const publicToken = await makeCard()
          await sql(database, change, [publicToken])
          tokens.push(publicToken)
        }
        const alone = []
        for (const publicToken of tokens) alone.push(await findChip(database, { publicToken }, key))
        const together = await Promise.all(
          tokens.map((publicToken) => findChip(database, { publicToken }, key)),
        )
        assert.deepEqual(together, alone)
        assert.equal(alone.at(-1), null)
        const facts = new Set(alone.map((found) => JSON.stringify({ ...found, publicToken: '' })))
        assert.ok(facts.size > 4, 'The cards differ in what is read.')
      })
    }
  })
}
