import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { expireRecords } from '../../../src/operations/events/expire.ts'
import { expireHolds } from '../../../src/operations/payments/expiry.ts'
import { expirePayments } from '../../../src/storage/payments/payments.ts'
import { sql, type TestService } from '../../support/service.ts'
import { onEachEngine } from '../authorizations/engines.ts'
import { nextId, pay, send } from './network.ts'

onEachEngine((engine) => {
  let service: TestService
  let publicToken: PublicToken
  before(async () => {
    service = await engine.openOne()
    publicToken = (await service.createCard()).publicToken
  })

  const eur = (amount: number) => ({ amount, currency: 'EUR' })
  const clear = async (members: object) => {
    const clearings = [{ clearingId: nextId(), publicToken, ...members }]
    return (await send(service, 'clearings', { clearings })).results[0]
  }
  const reverse = (members: object) =>
    send(service, 'reversals', { reversalId: nextId(), publicToken, ...members })
  /** Makes everything of the card as old as that. */
  const age = async (days: number) => {
    for (const [table, column] of [
      ['payment', 'opened_at'],
      ['payment_message', 'received_at'],
    ]) {
      await sql(
        service.database,
        `update ${table} set ${column} = $2::timestamptz where public_token = $1`,
        [publicToken, new Date(Date.now() - days * 86_400_000).toISOString()],
      )
    }
  }
  const list = async (table: 'payment' | 'payment_message'): Promise<(string | null)[]> => {
    const rows = await sql<{ paymentId: string | null }>(
      service.database,
      `select payment_id as "paymentId" from ${table} where public_token = $1`,
      [publicToken],
    )
    return rows.map(({ paymentId }) => paymentId).toSorted()
  }

  test('old payments that are over are deleted with their messages, and no others', async () => {
    const voided = await pay(service, publicToken)
    await reverse({ paymentId: voided.paymentId })
    const cleared = await pay(service, publicToken)
    await clear({ paymentId: cleared.paymentId, ...eur(10_000) })
    await clear({ ...eur(700) })
    await reverse({ networkTransactionId: nextId() })
    const expired = await pay(service, publicToken, 100, {
      holdExpiresAt: new Date().toISOString(),
    })
    await expireHolds({ database: service.database, now: () => new Date() })
    const open = await pay(service, publicToken)
    const partlyCleared = await pay(service, publicToken)
    await clear({ paymentId: partlyCleared.paymentId, ...eur(1), isFinal: false })
    const all = (await list('payment')).length
    await age(39)
    assert.equal(await expirePayments(service.database, 40, 100), 0)
    await age(42)
    assert.equal(await expirePayments(service.database, 40, 1), 2)
    const retention = { eventDays: 400, attemptDays: 400, paymentDays: 40 }
    await expireRecords(service.database, retention)
    assert.equal(await expirePayments(service.database, 40, 100), 0)
    const left = [open, partlyCleared].map(({ paymentId }) => paymentId)
    assert.equal(all, left.length + 4)
    assert.deepEqual(await list('payment'), left.toSorted())
    assert.deepEqual(await list('payment_message'), [partlyCleared.paymentId])
    assert.ok(!left.includes(expired.paymentId))
  })

  test('a message and the deletion of its payment at once leave no part of either', async () => {
    const { paymentId } = await pay(service, publicToken)
    await clear({ paymentId, ...eur(10_000) })
    await age(42)
    const [late] = await Promise.all([
      clear({ paymentId, ...eur(1), isRefund: true }),
      expirePayments(service.database, 40, 100),
    ])
    const payments = await list('payment')
    assert.ok(payments.includes(late.paymentId))
    for (const named of await list('payment_message')) assert.ok(payments.includes(named))
  })
})
