import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { deriveOpenAmount, derivePaymentState } from '../../../src/domain/payment.ts'
import { ask } from '../../support/network.ts'
import { sql, type TestService } from '../../support/service.ts'

/** A card network that sends messages about the payments of one card. */

/** A key or a transaction id that no other message has, and that holds no card number. */
export const nextId = (): string => randomBytes(7).toString('hex').replace(/^.{7}/, '$&T')

/** Sends a message of the demo network. */
export async function send(service: TestService, path: string, body: object) {
  const answer = await service.call('POST', `//network/${path}`, {
    as: 'network',
    listener: 'private',
    body,
  })
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}

/** Approves a purchase. @returns its payment and the network's id of it. */
export async function pay(
  service: TestService,
  publicToken: PublicToken,
  amount = 10_000,
  members: object = {},
) {
  const networkTransactionId = nextId()
  const transaction = { amount, currency: 'EUR', networkTransactionId, ...members }
  const { json } = await ask(service, { publicToken, ...transaction })
  assert.equal(json.responseCode, '00')
  return { paymentId: json.paymentId as string, networkTransactionId }
}

interface PaymentRow {
  readonly approved: number
  readonly reversed: number
  readonly cleared: number
  readonly refunded: number
  readonly isFinal: boolean
  readonly isExpired: boolean
}

/** The row of a payment, and its messages in their order. */
export async function readPayment(service: TestService, paymentId: string) {
  const [payment] = await sql<PaymentRow>(
    service.database,
    `select approved::integer, reversed::integer, cleared::integer, refunded::integer,
       is_final as "isFinal", is_expired as "isExpired"
     from payment where payment_id = $1`,
    [paymentId],
  )
  const messages = await sql<{ kind: string; effect: string; applied: number }>(
    service.database,
    `select kind, effect, applied::integer from payment_message where payment_id = $1
     order by position`,
    [paymentId],
  )
  assert.ok(payment)
  const { isExpired: _, isFinal: __, ...sums } = payment
  const state = derivePaymentState(payment)
  return { ...sums, state, open: deriveOpenAmount(payment), messages }
}
