import { DatabaseSync } from 'node:sqlite'
import type {
  DecisionAnswer,
  DecisionRequest,
  PinfoldEvent,
} from '../../packages/sdk/webhooks/webhooks.ts'

/** The balance of a new card, in the smallest unit of its currency. */
const openingBalance = 10_000

const db = new DatabaseSync(process.env.BALANCE_FILE ?? 'balance.db')
db.exec('create table if not exists taken (id text primary key, payment text, card text, amount)')
const isTaken = db.prepare('select 1 from taken where id = ?')
const sum = db.prepare('select total(amount) as amount from taken where card = ?')
const insert = db.prepare('insert or ignore into taken values (?, ?, ?, ?)')
const remove = db.prepare('delete from taken where ? in (id, payment)')

/** Approves what the balance covers, and takes it. A request that comes twice takes once. */
export default function decide(request: DecisionRequest): DecisionAnswer {
  const { amounts, card, decisionId, paymentId = decisionId, purpose } = request
  const amount = amounts.hold?.amount ?? 0
  const balance = openingBalance - Number(sum.get(card.publicToken)?.amount)
  if (!isTaken.get(decisionId) && amount > balance) {
    return { decision: 'decline', reason: 'insufficient_funds' }
  }
  if (purpose === 'authorize') insert.run(decisionId, paymentId, card.publicToken, amount)
  return { decision: 'approve' }
}

/** Follows what becomes of it: gives back what was declined, voided or expired. */
export function onEvent({ data, type }: PinfoldEvent): void {
  if (type === 'authorization.declined' && data.decisionId) remove.run(data.decisionId)
  if (type !== 'payment.changed' && type !== 'payment.expired') return
  remove.run(data.paymentId)
  const amount = data.open + data.cleared - data.refunded
  insert.run(data.messageId, data.paymentId, data.publicToken, amount)
}
