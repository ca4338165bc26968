import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { limitBases } from '../../../src/domain/controls.ts'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { deriveOpenAmount } from '../../../src/domain/payment.ts'
import { answerAuthorization } from '../../../src/storage/authorizations/settle.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { readFunctionFiles } from '../../../src/storage/engine/functions.ts'
import { newEventId } from '../../../src/storage/events/events.ts'
import {
  expirePayment,
  listDueHolds,
  recordPaymentMessage,
} from '../../../src/storage/payments/messages.ts'
import { databaseEngines } from '../../support/engines.ts'
import { parsePublicToken } from '../../support/identifiers.ts'
import { sql } from '../../support/service.ts'
import * as model from './payments-model.ts'

const networkId = 'network'

/** What a network or the clock does next. Numbers choose among what there is. */
const message = fc.record({
  kind: fc.constantFrom(
    ...(['authorization', 'increment', 'reversal', 'advice', 'clearing', 'refund'] as const),
  ),
  transaction: fc.constantFrom<string>('T0', 'T1', 'T2'),
  chosen: fc.nat(3),
  isById: fc.boolean(),
  amount: fc.integer({ min: 0, max: 100 }),
  isWhole: fc.boolean(),
  isRemaining: fc.boolean(),
  isFinal: fc.boolean(),
  isNewTotal: fc.boolean(),
  basis: fc.constantFrom(...limitBases),
})
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('send' as const), message }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('repeat' as const), chosen: fc.nat(20) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('sendBoth' as const), message, other: message }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      days: fc.integer({ min: 1, max: 9 }),
      isClearedMeanwhile: fc.boolean(),
    }),
  },
)
type DrawnFrom<Source> = Source extends fc.Arbitrary<infer Value> ? Value : never
type Drawn = DrawnFrom<typeof message>
type Step = DrawnFrom<typeof step>

let cards = 0

async function openCard(database: Database): Promise<PublicToken> {
  cards += 1
  const publicToken = parsePublicToken(String(7_000_000_000 + cards))
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
     values ($1, 'client', 1, 'Virtual', '400000******0000', '', '', '2026-01-01', '2030-01-31',
       $1, '00', '1234', 'pvk/1', 'cvk/1')`,
    [publicToken],
  )
  return publicToken
}

const currency = 'EUR'

/** Sends a message to the database. @returns what came of it, as the model tells it. */
async function send(
  database: Database,
  publicToken: PublicToken,
  { now }: model.ModelWorld,
  sent: model.ModelMessage,
): Promise<string> {
  const { amount, basis, kind, messageId, paymentId, transaction } = sent
  const holdExpiresAt = new Date(now + model.holdDays * model.dayMs)
  if (kind === 'authorization' || kind === 'increment') {
    const money = { amount: amount ?? 0, currency }
    const { isAnswered, isReversed } = await answerAuthorization(
      database,
      {
        publicToken,
        clientId: 'client',
        authorizationId: messageId,
        networkId,
        requestId: 'request',
        reference: 'R-1',
        entryMode: 'chip',
        transaction: {
          transactionType: 'purchase',
          money,
          billing: null,
          cashbackAmount: null,
          merchant: null,
          networkTransactionId: transaction,
        },
        responseCode: '00',
        checks: '[]',
        durationMs: 1,
        now: new Date(now),
        eventType: 'authorization.approved',
        details: '{}',
        hold: { ...money, expiresAt: holdExpiresAt },
        increment: kind === 'increment' ? { paymentId, isNewTotal: sent.isNewTotal } : null,
        spending: JSON.stringify({
          amount: amount ?? 0,
          count: 1,
          basis,
          limits: [
            { window: 'day', startsOn: model.findDay(now) },
            { window: 'lifetime', startsOn: '0001-01-01' },
          ],
          lockTo: null,
        }),
      },
      null,
    )
    if (isReversed) return 'reversed'
    assert.ok(isAnswered)
    if (kind === 'authorization') return 'answered'
    const [raised] = await sql<{ result: string }>(
      database,
      `select payment_id || ' ' || effect || ' ' || applied as result from payment_message
       where public_token = $1 and message_id = $2`,
      [publicToken, messageId],
    )
    return raised?.result ?? ''
  }
  const result = await recordPaymentMessage(database, {
    publicToken,
    networkId,
    requestId: 'request',
    messageId,
    kind,
    messageKey: sent.key,
    paymentId,
    networkTransactionId: transaction,
    money: amount === null ? null : { amount, currency },
    isRemaining: sent.isRemaining,
    isFinal: sent.isFinal,
    holdExpiresAt,
    networkExpiresAt: null,
    now: new Date(now),
    merchant: null,
    reference: null,
  })
  assert.ok('effect' in result, JSON.stringify(result))
  return `${result.paymentId} ${result.effect} ${result.applied}`
}

/** Everything that is stored of the payments of a card. */
async function readStored(database: Database, publicToken: PublicToken): Promise<object> {
  const payments = await sql(
    database,
    `select payment_id as "paymentId", network_transaction_id as transaction,
       opened_by as "openedBy", approved::integer, reversed::integer, cleared::integer,
       refunded::integer, is_final as "isFinal", is_expired as "isExpired",
       (extract(epoch from hold_expires_at) * 1000)::float8 as "expiresAt",
       array(
         select kind || ' ' || effect || ' ' || applied from payment_message as message
         where message.public_token = payment.public_token
           and message.payment_id = payment.payment_id
         order by position
       ) as messages
     from payment where public_token = $1 order by payment_id`,
    [publicToken],
  )
  const [numbers] = await sql<object>(
    database,
    `select last_sequence as events,
       (select count(*)::integer from event where event.public_token = card.public_token) as written,
       coalesce(
         (
           select windows from card_spending where card_spending.public_token = card.public_token
         ), '{}'
       ) as windows
     from card where public_token = $1`,
    [publicToken],
  )
  return { payments, ...numbers }
}

const tell = (world: model.ModelWorld): object => ({
  payments: [...world.payments.values()]
    .map(({ approvals: _, basis: __, ...payment }) => payment)
    .sort((one, other) => (one.paymentId < other.paymentId ? -1 : 1)),
  events: world.events,
  written: world.events,
  windows: model.tellWindows(world),
})

/** Chooses a message by what the world has. */
function toMessage(world: model.ModelWorld, drawn: Drawn): model.ModelMessage {
  const ids = [...world.payments.keys()]
  const messageId = newEventId()
  const isById = drawn.isById && ids.length > 0 && drawn.kind !== 'authorization'
  const paymentId = isById ? (ids[drawn.chosen % ids.length] ?? null) : null
  const transaction = world.payments.get(paymentId ?? '')?.transaction ?? drawn.transaction
  const isWhole = drawn.kind === 'reversal' && drawn.isWhole
  const isFinal = drawn.kind === 'clearing' && drawn.isFinal
  const isMoving = drawn.kind !== 'advice' && drawn.kind !== 'reversal' && !isFinal
  return {
    kind: drawn.kind,
    messageId,
    key: messageId,
    transaction,
    paymentId,
    amount: isWhole ? null : isMoving ? drawn.amount + 1 : drawn.amount,
    isRemaining: drawn.kind === 'reversal' && drawn.isRemaining,
    isFinal,
    isNewTotal: drawn.kind === 'increment' && drawn.isNewTotal,
    basis: drawn.basis,
  }
}

/** Runs steps on a new card, and compares the database with the model after each. */
async function runSteps(database: Database, steps: readonly Step[]): Promise<void> {
  const publicToken = await openCard(database)
  let world = model.createWorld(Date.parse('2026-06-01T12:00:00Z'))
  const sent: model.ModelMessage[] = []
  const sendOne = async (one: model.ModelMessage): Promise<void> => {
    sent.push(one)
    assert.equal(await send(database, publicToken, world, one), model.apply(world, one))
  }
  for (const each of steps) {
    if (each.do === 'send') await sendOne(toMessage(world, each.message))
    if (each.do === 'repeat') {
      const messages = sent.filter(({ kind }) => kind !== 'authorization' && kind !== 'increment')
      const repeated = messages[each.chosen % messages.length]
      if (repeated) await sendOne({ ...repeated, messageId: newEventId() })
    }
    if (each.do === 'sendBoth') world = await sendBoth(each.message, each.other)
    if (each.do === 'wait') await wait(each.days, each.isClearedMeanwhile)
    assert.deepEqual(await readStored(database, publicToken), tell(world))
    assertSums(world)
  }

  /** Two callers at once: the result is that of one order. */
  async function sendBoth(one: Drawn, other: Drawn): Promise<model.ModelWorld> {
    const both = [toMessage(world, one), toMessage(world, other)] as const
    sent.push(...both)
    await Promise.all(both.map((each) => send(database, publicToken, world, each)))
    const stored = await readStored(database, publicToken)
    const ends = [both, both.toReversed()].map((order) => {
      const end = model.copyWorld(world)
      for (const each of order) model.apply(end, each)
      return end
    })
    const end = ends.find((each) => isDeepEqual(stored, tell(each))) ?? ends[0]
    assert.ok(end)
    assert.deepEqual(stored, tell(end))
    return end
  }

  /** Moves the clock. Two processes expire what is due, and a clearing may come before both. */
  async function wait(days: number, isClearedMeanwhile: boolean): Promise<void> {
    world.now += days * model.dayMs
    const now = new Date(world.now)
    const due = (await listDueHolds(database, now, 100_000)).filter(
      (hold) => hold.publicToken === publicToken,
    )
    const expected = model.listDue(world).map(({ paymentId }) => paymentId)
    assert.deepEqual(due.map(({ paymentId }) => paymentId).sort(), expected.sort())
    const [first] = expected
    const transaction = world.payments.get(first ?? '')?.transaction ?? ''
    if (first !== undefined && isClearedMeanwhile) {
      const drawn = { kind: 'clearing', transaction, amount: 5, isFinal: true } as const
      const clearing = {
        ...drawn,
        chosen: 0,
        isById: false,
        isWhole: false,
        isRemaining: false,
        isNewTotal: false,
        basis: 'authorized',
      } as const
      await sendOne({ ...toMessage(world, clearing), paymentId: first })
    }
    for (const hold of due) {
      const expired = await Promise.all(
        [1, 2].map(() => expirePayment(database, hold, newEventId(), now)),
      )
      const isExpired = model.expire(world, hold.paymentId)
      assert.deepEqual(expired.sort(), isExpired ? [false, true] : [false, false])
    }
  }
}

const isDeepEqual = (one: object, other: object): boolean => {
  try {
    assert.deepEqual(one, other)
    return true
  } catch {
    return false
  }
}

function assertSums({ payments }: model.ModelWorld): void {
  for (const payment of payments.values()) {
    assert.ok(payment.reversed <= payment.approved)
    assert.ok(deriveOpenAmount(payment) >= 0)
    assert.ok(model.isCounted(payment))
  }
}

const check = (database: Database, numRuns: number): Promise<void> =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 15 }), (steps) =>
      runSteps(database, steps),
    ),
    { numRuns, seed: 41, endOnFailure: true },
  )

/** Faults, as changes of the functions' texts. */
const faults: Readonly<
  Record<string, { readonly from: string; readonly to: string; readonly also?: string }>
> = {
  'a reversal that is counted twice': {
    from: '    if found then\n      outcome := case',
    to: '    if false then\n      outcome := case',
    also: 'drop index payment_message_by_key',
  },
  'an increment after the final clearing': {
    from: "when p_state in ('open', 'partlyCleared') then 'raise'",
    to: "when p_state in ('open', 'partlyCleared', 'cleared') then 'raise'",
  },
  'what remains read as what is taken back': { from: 'when p_is_remaining', to: 'when false' },
  'an expiry that overtakes a clearing': {
    from: "if v_effect = 'ignore' or v_payment.hold_expires_at > p_now then",
    to: 'if v_payment.is_expired or v_payment.hold_expires_at > p_now then',
  },
  'two processes that expire one hold': {
    from: "when 'open' then 'expire'",
    to: "when 'open' then 'expire' when 'expired' then 'expire'",
  },
  'limits that an expiry gives back, whatever their basis': {
    from: "when 'cleared' then v_cleared\n    else v_authorized",
    to: "when 'cleared' then v_cleared\n    else v_cleared",
  },
  'limits whose basis changes with an increment': {
    from: '    return v_spending;\n  end if;\n  for',
    to: '  end if;\n  for',
  },
  'new totals that are added': {
    from: 'added := greatest(0, p_amount - v_held);',
    to: 'added := p_amount;',
  },
  'an increment that counts a clearing beyond the hold again': {
    from: 'greatest(0, added - greatest(0, v_payment.cleared - v_held))',
    to: 'added',
  },
  'a window that is chosen by the newest hold': {
    from: "continue when v_windows -> v_name ->> 'startsOn' is distinct from v_starts_on;",
    to: 'continue when v_windows -> v_name is null;',
  },
}

for (const { name, open, skip } of databaseEngines) {
  suite(`payments of random messages on ${name}`, { skip }, () => {
    test('the database comes to what a plain program comes to, with two callers and repeats', async () => {
      await check(await open(), 60)
    })

    for (const [fault, { also, from, to }] of Object.entries(faults)) {
      test(`${fault} is found`, async () => {
        const database = await open()
        const found = (await readFunctionFiles()).filter(({ text }) => text.includes(from))
        assert.ok(found.length > 0)
        for (const { text } of found) await database.script(text.replaceAll(from, to))
        if (also !== undefined) await database.script(also)
        await assert.rejects(check(database, 200))
      })
    }
  })
}
