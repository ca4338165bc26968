import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import fc from 'fast-check'
import { channels, completeControls } from '../../../src/domain/controls.ts'
import { decideControls } from '../../../src/domain/decide-controls.ts'
import { entryModes } from '../../../src/domain/entry-mode.ts'
import {
  findExcess,
  findPart,
  type SpendingWindows,
  takeFrom,
  type WindowLimit,
} from '../../../src/domain/spending.ts'
import { transactionTypes } from '../../../src/domain/transaction.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { databaseEngines } from '../../support/engines.ts'
import { sql } from '../../support/service.ts'

/** Few values, so that lists and transactions meet. */
const merchantIds = ['BAKERY', 'CASINO', 'HOTEL']
const arbitraryList = (values: readonly string[]) =>
  fc.record({
    allowed: fc.option(fc.subarray([...values])),
    blocked: fc.subarray([...values], { maxLength: 1 }),
  })
const arbitraryControls = fc
  .record({
    merchants: arbitraryList(merchantIds),
    merchantCategories: arbitraryList(['5462', '7995']),
    countries: arbitraryList(['ESP', 'FRA']),
    channels: arbitraryList(channels),
    merchantLock: fc.boolean(),
  })
  .map(completeControls)
const arbitraryTransaction = fc.record({
  entryMode: fc.constantFrom(...entryModes),
  transactionType: fc.constantFrom(...transactionTypes),
  merchant: fc.option(
    fc.record(
      {
        id: fc.constantFrom(...merchantIds),
        country: fc.constantFrom('ESP', 'FRA'),
        categoryCode: fc.constantFrom('5462', '7995'),
      },
      { requiredKeys: [] },
    ),
  ),
})

const arbitraryLimit = fc.record({
  window: fc.constantFrom('day', 'day.cash', 'day.cashback'),
  startsOn: fc.constantFrom('2026-11-26', '2026-11-27', '2026-11-28'),
  maximumAmount: fc.option(fc.integer({ min: 0, max: 300 })),
  maximumCount: fc.option(fc.integer({ min: 0, max: 4 })),
})
const arbitraryLimits = fc.array(arbitraryLimit, { minLength: 1, maxLength: 3 })
const arbitraryAmount = fc.integer({ min: 0, max: 150 })
/** Of a purchase with cash, no part is approved. */
const arbitraryTaking = fc.oneof(
  fc.record({
    amount: arbitraryAmount,
    limits: arbitraryLimits,
    isPartialAllowed: fc.boolean(),
  }),
  fc.record({
    amount: arbitraryAmount,
    limits: arbitraryLimits,
    cash: fc.integer({ min: 0, max: 150 }),
  }),
)

for (const { name, open, skip } of databaseEngines) {
  suite(`on ${name}`, { skip }, () => {
    let database: Database
    before(async () => {
      database = await open()
    })

    test('the function of the database finds the control that the domain finds first', async () => {
      await fc.assert(
        fc.asyncProperty(
          arbitraryControls,
          arbitraryTransaction,
          fc.option(fc.constantFrom(...merchantIds)),
          async (card, transaction, lockedMerchant) => {
            const [found] = decideControls(
              { card, product: null, currency: 'EUR' },
              { ...transaction, money: null },
              new Date(),
              { windows: {}, lockedMerchant },
            )
            if (['refund', 'credit'].includes(transaction.transactionType)) return
            const [row] = await sql<{ control: string | null }>(
              database,
              'select find_objecting_control($1::text::jsonb, $2, $3, $4::text::jsonb, $5) as control',
              [
                JSON.stringify(card),
                transaction.entryMode,
                transaction.transactionType,
                transaction.merchant && JSON.stringify(transaction.merchant),
                lockedMerchant,
              ],
            )
            assert.equal(row?.control ?? null, found?.control ?? null)
          },
        ),
        { numRuns: 200 },
      )
    })

    let cards = 0
    test('the function of the database reserves what the domain allows, and nothing else', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(arbitraryTaking, { maxLength: 6 }), async (takings) => {
          cards += 1
          const token = String(7_000_000_000 + cards)
          await makeCard(database, token)
          let windows: SpendingWindows = {}
          for (const asked of takings) {
            const decided = decide(windows, asked)
            windows = decided.windows
            const spending = {
              ...asked,
              count: countOf(asked.amount),
              limits: asked.limits.map((limit) => ({
                ...limit,
                owner: 'card',
                control: 'limits.day',
                isShadow: false,
              })),
            }
            const [row] = await sql<{ reason: string | null; approved: number | null }>(
              database,
              `select case when response_code is not null then details::jsonb ->> 'declineReason' end
                 as reason, approved_amount::integer as approved
               from reserve_spending($1, $2::text::jsonb, '[{"check":"limits"}]', '{}')`,
              [token, JSON.stringify(spending)],
            )
            assert.deepEqual(row, { reason: decided.reason, approved: decided.approved })
          }
          const [stored] = await sql<{ windows: SpendingWindows }>(
            database,
            'select windows from card_spending where public_token = $1',
            [token],
          )
          assert.deepEqual(stored?.windows ?? {}, windows)
        }),
        { numRuns: 60 },
      )
    })
  })
}

const countOf = (amount: number) => (amount === 0 ? 0 : 1)

interface Asked {
  readonly amount: number
  readonly isPartialAllowed?: boolean
  readonly cash?: number
  readonly limits: readonly WindowLimit[]
}

/** What the domain decides, and the windows after it. */
function decide(windows: SpendingWindows, { isPartialAllowed, limits, ...asked }: Asked) {
  const { amount } = asked
  const whole = { ...asked, count: countOf(amount) } as const
  const approved = isPartialAllowed ? (findPart(windows, limits, whole)?.amount ?? null) : null
  const taking = { ...whole, amount: approved ?? amount }
  const excesses = limits.map((limit) => findExcess(windows, limit, taking))
  const excess = excesses.find((each) => each !== null)
  if (excess) return { windows, reason: `${excess}_over_limit`, approved }
  return { windows: takeFrom(windows, limits, taking), reason: null, approved }
}

const makeCard = async (database: Database, token: string): Promise<void> => {
  await sql(
    database,
    `insert into product (product_id, product_name, scheme_name, bin, currency_code, card_types,
       validity_months, pin_length, pin_revealable, pin_try_limit, cvv_try_limit)
     values (1, 'Product', 'Visa', '400000', 'EUR', array['Virtual'], 48, 4, false, 3, 3)
     on conflict do nothing`,
  )
  await sql(
    database,
    `insert into card (public_token, client_id, product_id, card_type, masked_pan, encrypted_pan,
       personal_data, start_date, expiry_date, line_token, status_code, pvv, pin_key, cvk)
     values ($1, 'client-1', 1, 'Virtual', '400000******0000', '', '', '2026-01-01', '2030-01-31',
       $1, '00', '1234', 'pvk/1', 'cvk/1')`,
    [token],
  )
}
