import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import {
  derivePaymentState,
  paymentMessages,
  paymentRules,
  paymentSituations,
} from '../../../src/domain/payment.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { databaseEngines } from '../../support/engines.ts'
import { sql } from '../../support/service.ts'

for (const { name, open, skip } of databaseEngines) {
  suite(`the rules of payments on ${name}`, { skip }, () => {
    let database: Database
    before(async () => {
      database = await open()
    })

    test('the database and the program have the same effect for every message in every state', async () => {
      for (const message of paymentMessages) {
        for (const state of paymentSituations) {
          const [row] = await sql<{ effect: string }>(
            database,
            'select choose_payment_effect($1, $2) as effect',
            [message, state],
          )
          assert.equal(row?.effect, paymentRules[message][state], `${message} when ${state}`)
        }
      }
    })

    test('the database and the program derive the same state from every row', async () => {
      const rows = await sql<Parameters<typeof derivePaymentState>[0] & { state: string }>(
        database,
        `select approved::integer, reversed::integer, cleared::integer, is_final as "isFinal",
           is_expired as "isExpired",
           derive_payment_state(json_populate_record(null::payment, json_build_object(
             'approved', approved, 'reversed', reversed, 'cleared', cleared, 'is_final', is_final,
             'is_expired', is_expired
           ))) as state
         from generate_series(0, 2) as approved
         cross join generate_series(0, approved) as reversed
         cross join generate_series(0, 2) as cleared
         cross join unnest(array[false, true]) as is_final
         cross join unnest(array[false, true]) as is_expired`,
      )
      assert.equal(rows.length, 72)
      for (const { state, ...payment } of rows) {
        assert.equal(state, derivePaymentState(payment), JSON.stringify(payment))
      }
    })
  })
}
