import { DatabaseSync } from 'node:sqlite'
import type {
  DecisionAnswer,
  DecisionRequest,
  PinfoldEvent,
} from '../../packages/sdk/webhooks/webhooks.ts'

const db = new DatabaseSync(process.env.BALANCE_FILE ?? 'balance.db')
db.exec(`create table if not exists account (card text primary key, balance integer not null);
  create table if not exists decided (id text primary key, payment text, answer text not null);
  create table if not exists taken (payment text primary key, card text, amount integer);`)

/** Decides by the balance. A request may come twice: it has the same answer, and takes once. */
export default function decide(request: DecisionRequest): DecisionAnswer {
  const { amounts, card, decisionId, paymentId = decisionId, purpose } = request
  const known = db.prepare('select answer from decided where id = ?').get(decisionId)
  if (known) return JSON.parse(String(known.answer))
  const amount = amounts.hold?.amount ?? 0
  // A new card starts with 100.00.
  db.prepare('insert or ignore into account values (?, 10000)').run(card.publicToken)
  const account = db.prepare('select balance from account where card = ?').get(card.publicToken)
  const answer: DecisionAnswer =
    Number(account?.balance ?? 0) >= amount
      ? { decision: 'approve' }
      : { decision: 'decline', reason: 'insufficient_funds' }
  if (purpose !== 'authorize') return answer
  db.exec('begin')
  const row = [decisionId, paymentId, JSON.stringify(answer)]
  db.prepare('insert into decided values (?, ?, ?)').run(...row)
  if (answer.decision === 'approve')
    take(paymentId, card.publicToken, amountTaken(paymentId) + amount)
  db.exec('commit')
  return answer
}

/** Follows what became of it: a void, an expiry, a clearing, a refund, or a late answer. */
export function onEvent({ data, type }: PinfoldEvent): void {
  if (type === 'authorization.declined' && 'decisionId' in data) {
    const row = db.prepare('select payment from decided where id = ?').get(String(data.decisionId))
    if (row) take(String(row.payment), data.publicToken, 0)
  } else if (type === 'payment.changed' || type === 'payment.expired') {
    take(data.paymentId, data.publicToken, data.open + data.cleared - data.refunded)
  }
}

const amountTaken = (payment: string): number =>
  Number(db.prepare('select amount from taken where payment = ?').get(payment)?.amount ?? 0)

function take(payment: string, card: string, amount: number): void {
  const change = amountTaken(payment) - amount
  db.prepare('insert or replace into taken values (?, ?, ?)').run(payment, card, amount)
  db.prepare('update account set balance = balance + ? where card = ?').run(change, card)
}
