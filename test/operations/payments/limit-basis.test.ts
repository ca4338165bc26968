import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { LimitBasis } from '../../../src/domain/controls.ts'
import { expireHolds } from '../../../src/operations/payments/expiry.ts'
import { ask } from '../../support/network.ts'
import { sql, type TestService } from '../../support/service.ts'
import { onEachEngine } from '../authorizations/engines.ts'
import { nextId, pay, send } from './network.ts'

onEachEngine((engine) => {
  let service: TestService
  before(async () => {
    service = await engine.openOne()
  })

  const eur = (amount: number) => ({ amount, currency: 'EUR' })

  /** Limits all cards to 10,000 in their lifetime, under a basis. */
  async function limitBy(limitBasis: LimitBasis): Promise<void> {
    const path = '//products/1001/controls'
    const admin = { as: 'admin', listener: 'private' } as const
    const { version } = (await service.call('GET', path, admin)).json
    const body = { version, limitBasis, limits: [{ period: 'lifetime', maximumAmount: 10_000 }] }
    assert.equal((await service.call('PUT', path, { ...admin, body })).status, 200)
    assert.equal((await service.call('GET', path, admin)).json.limitBasis, limitBasis)
  }

  /** A new card with a payment of 6,000, and what the network sends about it. */
  async function openPayment() {
    const { publicToken } = await service.createCard()
    const { networkTransactionId, paymentId } = await pay(service, publicToken, 6_000)
    const named = { publicToken, networkTransactionId }
    return {
      publicToken,
      paymentId,
      reverse: (amount: number) =>
        send(service, 'reversals', { reversalId: nextId(), ...named, ...eur(amount) }),
      advise: (amount: number) =>
        send(service, 'advices', { adviceId: nextId(), ...named, ...eur(amount) }),
      clear: (amount: number, isFinal = true) =>
        send(service, 'clearings', {
          clearings: [{ clearingId: nextId(), ...named, ...eur(amount), isFinal }],
        }),
      expire: () =>
        expireHolds({
          database: service.database,
          now: () => new Date(Date.now() + 8 * 86_400_000),
        }),
      increment: (amount: number) => ask(service, { publicToken, paymentId, ...eur(amount) }),
      /** What the limit counts: the amount and the number of approvals. */
      counted: async () => {
        const [row] = await sql<{ amount: number; count: number }>(
          service.database,
          `select (windows #>> '{lifetime,amount}')::integer as amount,
             (windows #>> '{lifetime,count}')::integer as count
           from card_spending where public_token = $1`,
          [publicToken],
        )
        return [row?.amount, row?.count]
      },
    }
  }
  type Opened = Awaited<ReturnType<typeof openPayment>>

  /** What follows the approval of 6,000, and what the limit counts then under each basis. */
  const cases: Readonly<
    Record<
      string,
      {
        readonly act: (payment: Opened) => Promise<unknown>
        readonly authorized: readonly [number, number]
        readonly cleared: readonly [number, number]
      }
    >
  > = {
    'a reversal of a part': {
      act: ({ reverse }) => reverse(1_000),
      authorized: [5_000, 1],
      cleared: [5_000, 1],
    },
    'an expiry': {
      act: ({ expire }) => expire(),
      authorized: [6_000, 1],
      cleared: [0, 0],
    },
    'an expiry after a part was cleared': {
      act: async ({ clear, expire }) => {
        await clear(1_000, false)
        await expire()
      },
      authorized: [6_000, 1],
      cleared: [1_000, 1],
    },
    'a clearing of less, with more to come': {
      act: ({ clear }) => clear(5_500, false),
      authorized: [6_000, 1],
      cleared: [6_000, 1],
    },
    'a final clearing of less': {
      act: ({ clear }) => clear(5_500),
      authorized: [6_000, 1],
      cleared: [5_500, 1],
    },
    'a clearing of more, beyond the limit': {
      act: ({ clear }) => clear(11_000),
      authorized: [6_000, 1],
      cleared: [11_000, 1],
    },
    'a late clearing after the expiry': {
      act: async ({ clear, expire }) => {
        await expire()
        await clear(5_500)
      },
      authorized: [6_000, 1],
      cleared: [5_500, 1],
    },
    'an advice of less': {
      act: ({ advise }) => advise(4_000),
      authorized: [4_000, 1],
      cleared: [4_000, 1],
    },
    'an advice of more, beyond the limit': {
      act: ({ advise }) => advise(12_000),
      authorized: [12_000, 1],
      cleared: [12_000, 1],
    },
    'an advice that holds an amount again after the expiry': {
      act: async ({ advise, expire }) => {
        await expire()
        await advise(2_000)
      },
      authorized: [2_000, 1],
      cleared: [2_000, 1],
    },
    'an increment, and a reversal of more than it': {
      act: async ({ increment, reverse }) => {
        await increment(500)
        await reverse(700)
      },
      authorized: [5_800, 1],
      cleared: [5_800, 1],
    },
    'a refund': {
      act: async ({ clear, paymentId, publicToken }) => {
        await clear(6_000)
        const refund = { clearingId: nextId(), publicToken, paymentId, isRefund: true }
        await send(service, 'clearings', { clearings: [{ ...refund, ...eur(6_000) }] })
      },
      authorized: [6_000, 1],
      cleared: [6_000, 1],
    },
  }

  for (const basis of ['authorized', 'cleared'] as const) {
    test(`under the basis ${basis}, each message moves the limit by what it changes`, async () => {
      await limitBy(basis)
      for (const [title, { act, ...expected }] of Object.entries(cases)) {
        const payment = await openPayment()
        await act(payment)
        assert.deepEqual(await payment.counted(), expected[basis], title)
      }
    })
  }

  test('a payment keeps the basis under which it was approved', async () => {
    await limitBy('authorized')
    const first = await openPayment()
    await limitBy('cleared')
    const second = await openPayment()
    await first.increment(100)
    await limitBy('authorized')
    await first.expire()
    assert.deepEqual(await first.counted(), [6_100, 2])
    assert.deepEqual(await second.counted(), [0, 0])
  })

  test('a forced payment takes nothing from limits', async () => {
    await limitBy('cleared')
    const payment = await openPayment()
    const record = { clearingId: nextId(), publicToken: payment.publicToken, ...eur(9_000) }
    await send(service, 'clearings', { clearings: [record] })
    assert.deepEqual(await payment.counted(), [6_000, 1])
    const rest = await ask(service, { publicToken: payment.publicToken, ...eur(4_000) })
    assert.equal(rest.json.responseCode, '00')
  })
})
