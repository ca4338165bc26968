import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type ControlledTransaction,
  type Controls,
  channels,
  completeControls,
} from '../../src/domain/controls.ts'
import {
  decideControls,
  findPartialApproval,
  nothingSpent,
} from '../../src/domain/decide-controls.ts'
import { entryModes } from '../../src/domain/entry-mode.ts'
import { findDay, findExcess, startWindow, takeFrom } from '../../src/domain/spending.ts'
import { transactionTypes } from '../../src/domain/transaction.ts'

const at = new Date('2026-11-27T12:00:00Z')
const purchase: ControlledTransaction = {
  entryMode: 'chip',
  transactionType: 'purchase',
  money: { amount: 1_000, currency: 'EUR' },
  merchant: { id: 'BAKERY', country: 'ESP', categoryCode: '5462' },
}

const decide = (
  { card, product }: { readonly card?: Controls; readonly product?: Controls },
  transaction: Partial<ControlledTransaction> = {},
) =>
  decideControls(
    {
      card: card ?? null,
      product: product ? { ...product, timeZone: 'UTC' } : null,
      currency: 'EUR',
    },
    { ...purchase, ...transaction },
    at,
  )

/** Few values, so that lists and transactions meet. */
const merchantIds = ['BAKERY', 'CASINO', 'HOTEL']
const arbitraryList = (values: readonly string[]) =>
  fc.record({
    allowed: fc.option(fc.subarray([...values])),
    blocked: fc.subarray([...values]),
  })
const arbitraryControls: fc.Arbitrary<Controls> = fc
  .record({
    merchants: arbitraryList(merchantIds),
    merchantCategories: arbitraryList(['5462', '7995']),
    countries: arbitraryList(['ESP', 'FRA']),
    channels: arbitraryList(channels),
    limits: fc.array(
      fc.record({
        period: fc.constantFrom('transaction', 'day'),
        maximumAmount: fc.option(fc.integer({ min: 0, max: 2_000 })),
        channel: fc.option(fc.constantFrom(...channels)),
      }),
      { maxLength: 2 },
    ),
  })
  .map((members) => completeControls(members as Parameters<typeof completeControls>[0]))
const arbitraryTransaction: fc.Arbitrary<ControlledTransaction> = fc.record({
  entryMode: fc.constantFrom(...entryModes),
  transactionType: fc.constantFrom(...transactionTypes),
  money: fc.option(
    fc.record({ amount: fc.integer({ min: 0, max: 2_000 }), currency: fc.constantFrom('EUR') }),
  ),
  merchant: fc.option(
    fc.record({
      id: fc.constantFrom(...merchantIds),
      country: fc.constantFrom('ESP', 'FRA'),
      categoryCode: fc.constantFrom('5462', '7995'),
    }),
  ),
})

test('a card narrows its product and never widens it: both must allow a transaction', () => {
  fc.assert(
    fc.property(
      arbitraryControls,
      arbitraryControls,
      arbitraryTransaction,
      (product, card, transaction) => {
        const both = decide({ product, card }, transaction)
        const alone = [...decide({ product }, transaction), ...decide({ card }, transaction)]
        assert.equal(both.length === 0, alone.length === 0)
        const byName = (one: object, other: object) =>
          JSON.stringify(one).localeCompare(JSON.stringify(other))
        assert.deepEqual(both.toSorted(byName), alone.toSorted(byName))
      },
    ),
  )
})

test('what is blocked is declined, whatever is allowed', () => {
  fc.assert(
    fc.property(arbitraryControls, arbitraryTransaction, (card, transaction) => {
      const id = transaction.merchant?.id ?? ''
      const isControlled = !['refund', 'credit'].includes(transaction.transactionType)
      const isBlocked = card.merchants.blocked.includes(id)
      const objects = decide({ card }, transaction).some(({ control }) => control === 'merchants')
      if (isBlocked && isControlled) assert.ok(objects)
      if (!isControlled) assert.ok(!objects)
    }),
  )
})

test('an entry more in a blocked list, or one less in an allowed list, approves nothing more', () => {
  fc.assert(
    fc.property(arbitraryControls, arbitraryTransaction, (card, transaction) => {
      const { allowed, blocked } = card.merchants
      const narrower = {
        ...card,
        merchants: { allowed: allowed?.slice(1) ?? [], blocked: [...blocked, 'HOTEL'] },
      }
      if (decide({ card: narrower }, transaction).length === 0) {
        assert.deepEqual(decide({ card }, transaction), [])
      }
    }),
  )
})

test('controls without a member allow everything', () => {
  fc.assert(
    fc.property(arbitraryTransaction, (transaction) => {
      const open = completeControls()
      assert.deepEqual(decide({ card: open, product: open }, transaction), [])
    }),
  )
})

test('each control has its decline reason, and the first objection is that of the lists', () => {
  const card = completeControls({
    merchants: { blocked: ['BAKERY'] },
    merchantCategories: { allowed: ['7995'] },
    countries: { allowed: [] },
    channels: { blocked: ['chip'] },
    limits: [
      { period: 'transaction', maximumAmount: 999 },
      { period: 'day', maximumAmount: 0 },
      { period: 'lifetime', maximumCount: 0 },
    ],
  })
  assert.deepEqual(
    decide({ card }).map(({ control, declineReason }) => [control, declineReason]),
    [
      ['merchants', 'merchant_not_allowed'],
      ['merchantCategories', 'merchant_category_not_allowed'],
      ['countries', 'country_not_allowed'],
      ['channels', 'channel_not_allowed'],
      ['limits.transaction', 'amount_over_limit'],
      ['limits.day', 'amount_over_limit'],
      ['limits.lifetime', 'count_over_limit'],
    ],
  )
})

test('what the network did not send is not blocked, and not allowed where something is', () => {
  const merchant = null
  const blocking = completeControls({ merchants: { blocked: ['BAKERY'] } })
  assert.deepEqual(decide({ card: blocking }, { merchant }), [])
  const allowing = completeControls({ merchants: { allowed: ['BAKERY'] } })
  assert.equal(decide({ card: allowing }, { merchant }).length, 1)
})

test('a limit of amounts needs an amount in the currency of the product', () => {
  const card = completeControls({ limits: [{ period: 'day', maximumAmount: 5_000 }] })
  const reason = (money: ControlledTransaction['money']) =>
    decide({ card }, { money })[0]?.declineReason
  assert.equal(reason(null), 'invalid_amount')
  assert.equal(reason({ amount: 1, currency: 'USD' }), 'currency_not_supported')
  assert.equal(reason({ amount: 5_000, currency: 'EUR' }), undefined)
  assert.equal(reason({ amount: 5_001, currency: 'EUR' }), 'amount_over_limit')
})

test('null is no limit, and 0 allows nothing but an account check', () => {
  const none = completeControls({ limits: [{ period: 'day', maximumAmount: null }] })
  assert.deepEqual(decide({ card: none }), [])
  const nothing = completeControls({
    limits: [{ period: 'day', maximumAmount: 0, maximumCount: 0 }],
  })
  assert.equal(decide({ card: nothing }).length, 1)
  assert.deepEqual(decide({ card: nothing }, { money: { amount: 0, currency: 'USD' } }), [])
})

test('a limit of a channel counts transactions of that channel only', () => {
  const card = completeControls({ limits: [{ period: 'day', channel: 'cash', maximumAmount: 0 }] })
  assert.deepEqual(decide({ card }), [])
  assert.equal(decide({ card }, { entryMode: 'atm' })[0]?.control, 'limits.day.cash')
  assert.equal(decide({ card }, { transactionType: 'cash' }).length, 1)
})

test('a locked card is declined at every other merchant', () => {
  const card = completeControls({ merchantLock: true })
  const decideAt = (lockedMerchant: string | null, id: string) =>
    decideControls(
      { card, product: null, currency: 'EUR' },
      { ...purchase, merchant: { id } },
      at,
      { ...nothingSpent, lockedMerchant },
    ).map(({ control }) => control)
  assert.deepEqual(decideAt(null, 'BAKERY'), [])
  assert.deepEqual(decideAt('BAKERY', 'BAKERY'), [])
  assert.deepEqual(decideAt('BAKERY', 'CASINO'), ['merchantLock'])
})

test('a week starts on Monday, a month on its first day, in the time zone of the product', () => {
  assert.equal(startWindow('week', '2026-11-27'), '2026-11-23')
  assert.equal(startWindow('week', '2026-11-23'), '2026-11-23')
  assert.equal(startWindow('week', '2026-11-22'), '2026-11-16')
  assert.equal(startWindow('month', '2026-11-27'), '2026-11-01')
  assert.equal(startWindow('day', '2026-11-27'), '2026-11-27')
  const late = new Date('2026-11-30T23:30:00Z')
  assert.equal(findDay(late, 'UTC'), '2026-11-30')
  assert.equal(findDay(late, 'Europe/Madrid'), '2026-12-01')
  assert.equal(findDay(late, 'America/New_York'), '2026-11-30')
})

test('a window never reopens: a slower clock counts into the newer one', () => {
  const limit = { window: 'day', maximumAmount: 100, maximumCount: null }
  const taking = { amount: 60, count: 1 } as const
  const today = { ...limit, startsOn: '2026-11-27' }
  const yesterday = { ...limit, startsOn: '2026-11-26' }
  const windows = takeFrom({}, [today], taking)
  assert.deepEqual(windows, { day: { startsOn: '2026-11-27', amount: 60, count: 1 } })
  assert.equal(findExcess(windows, yesterday, taking), 'amount')
  assert.deepEqual(takeFrom(windows, [{ ...limit, startsOn: '2026-11-28' }], taking), {
    day: { startsOn: '2026-11-28', amount: 60, count: 1 },
  })
})

test('a part is approved exactly where only amounts are over, and it is the most that is allowed', () => {
  fc.assert(
    fc.property(
      arbitraryControls,
      arbitraryTransaction,
      fc.record({ amount: fc.integer({ min: 0, max: 1_500 }), count: fc.constantFrom(0, 1) }),
      (card, transaction, { amount, count }) => {
        const inForce = { card, product: null, currency: 'EUR' }
        const windows = { day: { startsOn: '2026-11-27', amount, count } }
        const spent = { windows, lockedMerchant: null }
        const decidePart = (part: number) =>
          decideControls(
            inForce,
            { ...transaction, money: { amount: part, currency: 'EUR' } },
            at,
            spent,
          )
        const part = findPartialApproval(inForce, transaction, at, spent)
        if (part) {
          assert.ok(transaction.money && part.amount < transaction.money.amount)
          assert.deepEqual(decidePart(part.amount), [])
          assert.notDeepEqual(decidePart(part.amount + 1), [])
        } else if (transaction.money?.currency === 'EUR' && transaction.money.amount > 1) {
          const isWhole = decidePart(transaction.money.amount).length === 0
          assert.ok(isWhole || decidePart(1).length > 0)
        }
      },
    ),
  )
})
