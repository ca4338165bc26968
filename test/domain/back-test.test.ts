import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { beginBackTest, changesMost, type RecordedDecision } from '../../src/domain/back-test.ts'
import { completeControls, completeProductControls } from '../../src/domain/controls.ts'
import {
  type CardSpending,
  type ControlObjection,
  type ControlsInForce,
  decideControls,
  findPartialApproval,
  meetLimits,
  nothingSpent,
  takeAmount,
} from '../../src/domain/decide-controls.ts'
import { prepareControls } from '../../src/domain/prepared-controls.ts'
import { takeFrom } from '../../src/domain/spending.ts'

/** Few values, so that controls and transactions meet. */
const merchantIds = ['BAKERY', 'CASINO', 'HOTEL']
const categories = ['5462', '7995']
const lists = (values: readonly string[]) =>
  fc.record({
    allowed: fc.option(fc.subarray([...values], { minLength: 1 })),
    blocked: fc.subarray([...values], { maxLength: 1 }),
  })
const arbitraryRules = fc.record({
  merchants: lists(merchantIds),
  merchantCategories: lists(categories),
  channels: fc.record({ blocked: fc.subarray(['chip', 'cash', 'cashback'], { maxLength: 1 }) }),
  merchantLock: fc.boolean(),
  singleUse: fc.boolean(),
  limits: fc.uniqueArray(
    fc.record({
      period: fc.constantFrom('transaction', 'day', 'week', 'month', 'lifetime'),
      channel: fc.option(fc.constantFrom('cash', 'chip', 'cashback')),
      maximumAmount: fc.option(fc.integer({ min: 0, max: 5_000 })),
    }),
    { maxLength: 4, selector: ({ channel, period }) => `${period} ${channel}` },
  ),
})
const arbitraryInForce: fc.Arbitrary<ControlsInForce> = fc
  .record({
    product: arbitraryRules,
    card: fc.option(arbitraryRules),
    shadow: arbitraryRules,
    timeZone: fc.constantFrom('UTC', 'Europe/Madrid', 'Asia/Kathmandu'),
  })
  .map(({ card, product, shadow, timeZone }) => ({
    product: completeProductControls({ ...product, shadow, timeZone } as object),
    card: card && completeControls({ ...card, shadow } as object),
    currency: 'EUR',
  }))
const arbitraryRequest = fc.record({
  minutesLater: fc.integer({ min: 0, max: 600 }),
  card: fc.constantFrom('1000000001', '1000000002'),
  entryMode: fc.constantFrom('chip', 'atm', 'ecommerce'),
  transactionType: fc.constantFrom('purchase', 'cash', 'cashback', 'refund'),
  money: fc.option(
    fc.record({
      amount: fc.integer({ min: 0, max: 2_000 }),
      currency: fc.constantFrom('EUR', 'EUR', 'USD'),
    }),
  ),
  cashCharge: fc.option(fc.integer({ min: 0, max: 500 })),
  merchant: fc.option(
    fc.record({
      id: fc.constantFrom(...merchantIds),
      categoryCode: fc.constantFrom(...categories),
    }),
  ),
  answer: fc.constantFrom(
    { responseCode: '00', control: null, isPart: false },
    { responseCode: '00', control: null, isPart: false },
    { responseCode: '10', control: null, isPart: true },
    { responseCode: '55', control: null, isPart: false },
    { responseCode: '61', control: 'limits.day', isPart: false },
  ),
})
type Request = typeof arbitraryRequest extends fc.Arbitrary<infer Value> ? Value : never

const toHistory = (requests: readonly Request[]): RecordedDecision[] => {
  let time = Date.parse('2026-10-24T20:00:00Z')
  return requests.map(({ answer, card, minutesLater, ...transaction }, place) => {
    time += minutesLater * 60_000
    const { isPart, ...answered } = answer
    const { money } = transaction
    // Only a part of an amount in the card's currency is approved.
    const isPartial = isPart && money?.currency === 'EUR' && money.amount > 1
    return {
      publicToken: card,
      authorizationId: String(place).padStart(8, '0'),
      at: new Date(time),
      transaction: transaction as RecordedDecision['transaction'],
      ...(isPart && !isPartial ? { responseCode: '00', control: null } : answered),
      approvedAmount: isPartial ? Math.floor(money.amount / 2) : null,
    }
  })
}

const isApproval = ({ responseCode }: RecordedDecision) => ['00', '10'].includes(responseCode)

/** Decides an authorization by the functions that explain controls, as slowly as it takes. */
const decideOne = (
  inForce: ControlsInForce,
  recorded: RecordedDecision,
  spending: CardSpending,
): { objection: ControlObjection | null; taken: number } => {
  const { approvedAmount, at, transaction } = recorded
  const [objection = null] = decideControls(inForce, transaction, at, spending)
  const { amount } = takeAmount(transaction, 'EUR')
  const part =
    objection && approvedAmount !== null
      ? findPartialApproval(inForce, transaction, at, spending)
      : null
  return part ? { objection: null, taken: part.amount } : { objection, taken: amount }
}

const spend = (
  inForce: ControlsInForce,
  { at, transaction }: RecordedDecision,
  { lockedMerchant, windows }: CardSpending,
  amount: number,
): CardSpending => {
  const timeZone = inForce.product?.timeZone ?? 'UTC'
  const met = meetLimits({ ...inForce, timeZone }, transaction, at)
  const isLocked = inForce.product?.merchantLock || inForce.card?.merchantLock
  const merchant = isLocked ? (transaction.merchant?.id ?? null) : null
  return {
    windows: takeFrom(windows, met.windows, { ...takeAmount(transaction, 'EUR'), amount }),
    lockedMerchant: lockedMerchant ?? merchant,
  }
}

const decideOneByOne = (inForce: ControlsInForce, history: readonly RecordedDecision[]) => {
  const spent = new Map<string, CardSpending>()
  return history
    .filter(({ transaction }) => !['refund', 'credit'].includes(transaction.transactionType))
    .map((recorded) => {
      const { approvedAmount, control, publicToken, transaction } = recorded
      const { amount } = takeAmount(transaction, 'EUR')
      const before = approvedAmount ?? amount
      if (!isApproval(recorded) && control === null) {
        return { recorded, objection: null, isApproved: false, before, after: amount }
      }
      const spending = spent.get(publicToken) ?? nothingSpent
      const { objection, taken } = decideOne(inForce, recorded, spending)
      if (!objection) spent.set(publicToken, spend(inForce, recorded, spending, taken))
      return { recorded, objection, isApproved: objection === null, before, after: taken }
    })
}

const backTest = (inForce: ControlsInForce, history: readonly RecordedDecision[]) => {
  const run = beginBackTest()
  const controls = prepareControls(inForce)
  const cards = new Map<string, { controls: typeof controls; spending: CardSpending }>()
  for (const recorded of history) {
    const card = cards.get(recorded.publicToken) ?? { controls, spending: nothingSpent }
    cards.set(recorded.publicToken, card)
    run.decide(card, recorded)
  }
  return run.summarize()
}

test('a back-test decides a history as deciding each authorization one by one does', () => {
  let changed = 0
  fc.assert(
    fc.property(
      arbitraryInForce,
      fc.array(arbitraryRequest, { minLength: 1, maxLength: 60 }),
      (inForce, requests) => {
        const history = toHistory(requests)
        const decided = decideOneByOne(inForce, history)
        const result = backTest(inForce, history)
        const sum = (of: typeof decided, amount: 'before' | 'after') => ({
          count: of.length,
          amount: of.reduce((total, each) => total + each[amount], 0),
        })
        const wasApproved = ({ recorded }: (typeof decided)[number]) => isApproval(recorded)
        const changes = decided.filter((each) => wasApproved(each) !== each.isApproved)
        changed += changes.length
        const { controls, ...sums } = result
        assert.deepEqual(sums, {
          recorded: {
            approved: sum(decided.filter(wasApproved), 'before'),
            declined: sum(
              decided.filter((each) => !wasApproved(each)),
              'before',
            ),
          },
          draft: {
            approved: sum(
              decided.filter((each) => each.isApproved),
              'after',
            ),
            declined: sum(
              decided.filter((each) => !each.isApproved),
              'after',
            ),
          },
          newlyDeclined: sum(
            changes.filter((each) => !each.isApproved),
            'before',
          ),
          newlyApproved: sum(
            changes.filter((each) => each.isApproved),
            'before',
          ),
          changes: changes
            .slice(0, changesMost)
            .map(({ objection, recorded }) => ({ ...recorded, objection })),
        })
        for (const { control, declined, newlyDeclined, owner } of controls) {
          const its = decided.filter(
            ({ objection }) => objection?.control === control && objection.owner === owner,
          )
          assert.deepEqual(
            { declined, newlyDeclined },
            {
              declined: sum(its, 'after'),
              newlyDeclined: sum(its.filter(wasApproved), 'before'),
            },
          )
        }
        const declinedByControls = decided.filter(({ objection }) => objection !== null).length
        assert.equal(
          controls.reduce((total, { declined }) => total + declined.count, 0),
          declinedByControls,
        )
      },
    ),
    { numRuns: 500 },
  )
  assert(changed > 1_000, `only ${changed} authorizations changed`)
})

const purchase = (place: number, amount: number): RecordedDecision => ({
  publicToken: '1000000001',
  authorizationId: String(place).padStart(8, '0'),
  at: new Date('2026-10-24T20:00:00Z'),
  transaction: {
    entryMode: 'chip',
    transactionType: 'purchase',
    money: { amount, currency: 'EUR' },
    merchant: null,
  },
  responseCode: '00',
  approvedAmount: null,
  control: null,
})
const blockChip: ControlsInForce = {
  product: completeProductControls({ channels: { blocked: ['chip'] } }),
  card: null,
  currency: 'EUR',
}

test('the first hundred changes are the oldest, in whichever order cards come', () => {
  const places = Array.from({ length: 250 }, (_, place) => place)
  const late = places.filter((place) => place % 2 === 1)
  const early = places.filter((place) => place % 2 === 0)
  const { changes, newlyDeclined } = backTest(
    blockChip,
    [...late, ...early].map((place) => purchase(place, 1)),
  )
  assert.equal(newlyDeclined.count, 250)
  assert.deepEqual(
    changes.map(({ authorizationId }) => Number(authorizationId)),
    places.slice(0, changesMost),
  )
})

test('what another reason declined stays declined and takes nothing', () => {
  const limited: ControlsInForce = {
    ...blockChip,
    product: completeProductControls({ limits: [{ period: 'day', maximumAmount: 100 }] }),
  }
  const wrongPin = { ...purchase(0, 90), responseCode: '55' }
  const { draft, newlyDeclined } = backTest(limited, [wrongPin, purchase(1, 60), purchase(2, 60)])
  assert.deepEqual(draft.approved, { count: 1, amount: 60 })
  assert.deepEqual(newlyDeclined, { count: 1, amount: 60 })
})

test('a partial approval is decided again, and may be approved in another part', () => {
  const limited: ControlsInForce = {
    ...blockChip,
    product: completeProductControls({ limits: [{ period: 'day', maximumAmount: 100 }] }),
  }
  const partial = (place: number) => ({
    ...purchase(place, 80),
    responseCode: '10',
    approvedAmount: 30,
  })
  const { changes, ...sums } = backTest(limited, [partial(0), partial(1), partial(2)])
  assert.deepEqual(sums.recorded.approved, { count: 3, amount: 90 })
  assert.deepEqual(sums.draft.approved, { count: 2, amount: 80 + 20 })
  assert.deepEqual(sums.draft.declined, { count: 1, amount: 80 })
  assert.deepEqual(sums.newlyDeclined, { count: 1, amount: 30 })
  assert.deepEqual(changes, [
    {
      ...partial(2),
      objection: { declineReason: 'amount_over_limit', owner: 'product', control: 'limits.day' },
    },
  ])
})
