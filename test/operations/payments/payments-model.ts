import {
  deriveOpenAmount,
  derivePaymentState,
  type PaymentEffect,
  paymentRules,
} from '../../../src/domain/payment.ts'

/** Payments of one card as a plain program has them, to compare with the database. */

export const dayMs = 86_400_000
/** How long a hold lasts. */
export const holdDays = 7

/** What the limits count of a payment. */
type Basis = 'authorized' | 'cleared'

/** An approval that limits count: what it has taken of which day. */
interface Approval {
  amount: number
  readonly day: string
}

/** A payment, with the effects of its messages in their order. */
export interface ModelPayment {
  readonly paymentId: string
  readonly transaction: string
  readonly openedBy: string
  approved: number
  reversed: number
  cleared: number
  refunded: number
  isFinal: boolean
  isExpired: boolean
  expiresAt: number | null
  readonly messages: string[]
  /** Of its first approval, which no later one changes; null without an approval. */
  basis: Basis | null
  /** Oldest first. */
  readonly approvals: Approval[]
}

export interface ModelWorld {
  now: number
  /** The day of the newest window; null before the first approval. */
  day: string | null
  readonly payments: Map<string, ModelPayment>
  /** Until when the transactions whose reversal came first are declined. */
  readonly reversedFirst: Map<string, number>
  /** What was done under each key. */
  readonly done: Map<string, string>
  events: number
}

export const createWorld = (now: number): ModelWorld => ({
  now,
  day: null,
  payments: new Map(),
  reversedFirst: new Map(),
  done: new Map(),
  events: 0,
})

export const copyWorld = (world: ModelWorld): ModelWorld => structuredClone(world)

/** A message, as the database gets it. */
export interface ModelMessage {
  readonly kind: 'authorization' | 'increment' | 'reversal' | 'advice' | 'clearing' | 'refund'
  readonly messageId: string
  readonly key: string
  readonly transaction: string
  readonly paymentId: string | null
  /** Null: a reversal of everything. */
  readonly amount: number | null
  readonly isRemaining: boolean
  readonly isFinal: boolean
  /** Whether the amount of an increment is the new total. */
  readonly isNewTotal: boolean
  /** What the product says when the message is an approval. */
  readonly basis: Basis
}

/** The day of an instant. */
export const findDay = (now: number): string => new Date(now).toISOString().slice(0, 10)

const clearable: ReadonlySet<string> = new Set(['open', 'partlyCleared'])

function findPayment(world: ModelWorld, message: ModelMessage): ModelPayment | undefined {
  if (message.paymentId !== null) return world.payments.get(message.paymentId)
  const named = [...world.payments.values()]
    .filter(({ transaction }) => transaction === message.transaction)
    .sort((one, other) => (one.paymentId < other.paymentId ? 1 : -1))
  return named.find((payment) => clearable.has(derivePaymentState(payment))) ?? named[0]
}

/** Does a message. @returns what came of it, as one text. */
export function apply(world: ModelWorld, message: ModelMessage): string {
  const first = world.done.get(message.key)
  if (first !== undefined) return first
  const result = applyNew(world, message)
  if (message.kind !== 'authorization' && message.kind !== 'increment') {
    world.done.set(message.key, result)
  }
  return result
}

function applyNew(world: ModelWorld, message: ModelMessage): string {
  if (message.kind === 'authorization') return authorize(world, message)
  const payment = findPayment(world, message)
  const kind = message.kind === 'clearing' && message.isFinal ? 'finalClearing' : message.kind
  const listed = paymentRules[kind][payment ? derivePaymentState(payment) : 'none']
  const effect = message.amount === 0 ? chooseEffectOfNothing(kind, listed) : listed
  const open = payment ? deriveOpenAmount(payment) : 0
  const amount = statedAmount(message, payment, open)
  if (!payment && effect === 'record') return 'null record 0'
  if (!payment || opening.has(effect)) return openPayment(world, message, effect, amount)
  const before = { ...payment }
  const applied = change(payment, effect, amount, open, world.now)
  if (effect === 'raise') countRaise(world, before, payment, message)
  else countChange(before, payment)
  payment.messages.push(`${message.kind} ${effect} ${applied}`)
  if (message.kind === 'increment') world.events += 1
  if (effect !== 'record') world.events += 1
  return `${payment.paymentId} ${effect} ${applied}`
}

/** A final clearing of 0 only releases a hold, and an advice of 0 opens no payment. */
function chooseEffectOfNothing(kind: string, listed: PaymentEffect): PaymentEffect {
  const isRecorded = kind === 'finalClearing' ? listed !== 'clearFinal' : listed === 'openDecided'
  return isRecorded ? 'record' : listed
}

/** Counts an approval in the windows of its day and of the lifetime. */
function countApproval(
  world: ModelWorld,
  payment: ModelPayment,
  { basis }: ModelMessage,
  amount: number,
): void {
  world.day = findDay(world.now)
  payment.basis ??= basis
  payment.approvals.push({ amount, day: world.day })
}

/** Counts an increment: a clearing beyond the hold was counted already, if its basis says so. */
function countRaise(
  world: ModelWorld,
  before: ModelPayment,
  payment: ModelPayment,
  message: ModelMessage,
): void {
  const count = countBy[payment.basis ?? message.basis]
  countApproval(world, payment, message, count(payment) - count(before))
}

/** What a basis counts of a payment that limits count from its approval on. */
const countBy: Readonly<Record<Basis, (payment: ModelPayment) => number>> = {
  authorized: ({ approved, reversed }) => approved - reversed,
  cleared: (payment) => deriveOpenAmount(payment) + payment.cleared,
}

/** Counts a change: the newest approval takes, and gives back first. */
function countChange(before: ModelPayment, { approvals, basis, ...after }: ModelPayment): void {
  if (basis === null) return
  let left = countBy[basis]({ ...after, approvals, basis }) - countBy[basis](before)
  for (const approval of approvals.toReversed()) {
    const moved = Math.max(left, -approval.amount)
    approval.amount += moved
    left -= moved
  }
}

/** The windows of the card's limits: none before the first approval. */
export function tellWindows({ day, payments }: ModelWorld): object {
  if (day === null) return {}
  const approvals = [...payments.values()].flatMap((payment) => payment.approvals)
  const tell = (startsOn: string, counted: readonly Approval[]) => ({
    startsOn,
    amount: counted.reduce((sum, { amount }) => sum + amount, 0),
    count: counted.filter(({ amount }) => amount > 0).length,
  })
  return {
    day: tell(
      day,
      approvals.filter((approval) => approval.day === day),
    ),
    lifetime: tell('0001-01-01', approvals),
  }
}

/** Whether exactly what the basis says of a payment is counted, if all of it was approved here. */
export const isCounted = (payment: ModelPayment): boolean =>
  payment.basis === null ||
  (payment.openedBy !== 'authorization' && payment.openedBy !== 'increment') ||
  countBy[payment.basis](payment) === payment.approvals.reduce((sum, { amount }) => sum + amount, 0)

const opening: ReadonlySet<PaymentEffect> = new Set([
  'openFlagged',
  'openDecided',
  'force',
  'forceFinal',
  'credit',
])

function statedAmount(
  { amount, isNewTotal, isRemaining, kind }: ModelMessage,
  payment: ModelPayment | undefined,
  open: number,
): number {
  if (amount === null) return open
  if (isNewTotal && payment && clearable.has(derivePaymentState(payment))) {
    return Math.max(0, amount - (payment.approved - payment.reversed))
  }
  if (kind !== 'reversal' || !isRemaining) return amount
  return payment ? Math.max(0, payment.approved - payment.reversed - amount) : 0
}

function authorize(world: ModelWorld, message: ModelMessage): string {
  const { amount, messageId, transaction } = message
  if ((world.reversedFirst.get(transaction) ?? 0) > world.now) return 'reversed'
  const payment = {
    ...blank(messageId, transaction, 'authorization'),
    approved: amount ?? 0,
    expiresAt: world.now + holdDays * dayMs,
  }
  world.payments.set(messageId, payment)
  countApproval(world, payment, message, amount ?? 0)
  world.events += 1
  return 'answered'
}

const blank = (paymentId: string, transaction: string, openedBy: string): ModelPayment => ({
  paymentId,
  transaction,
  openedBy,
  approved: 0,
  reversed: 0,
  cleared: 0,
  refunded: 0,
  isFinal: false,
  isExpired: false,
  expiresAt: null,
  messages: [],
  basis: null,
  approvals: [],
})

function openPayment(
  world: ModelWorld,
  message: ModelMessage,
  effect: PaymentEffect,
  amount: number,
): string {
  const { kind, messageId, transaction } = message
  if (effect === 'remember') {
    world.reversedFirst.set(transaction, world.now + dayMs)
    return 'null remember 0'
  }
  const isHold = effect === 'openFlagged' || effect === 'openDecided'
  const payment = {
    ...blank(messageId, transaction, kind),
    approved: isHold ? amount : 0,
    cleared: kind === 'clearing' ? amount : 0,
    refunded: kind === 'refund' ? amount : 0,
    isFinal: effect === 'forceFinal' || effect === 'credit',
    expiresAt: isHold ? world.now + holdDays * dayMs : null,
    messages: [`${kind} ${effect} ${amount}`],
  }
  world.payments.set(messageId, payment)
  if (kind === 'increment') countApproval(world, payment, message, amount)
  world.events += kind === 'increment' ? 2 : 1
  return `${messageId} ${effect} ${amount}`
}

/** @returns what changed. */
function change(
  payment: ModelPayment,
  effect: PaymentEffect,
  amount: number,
  open: number,
  now: number,
): number {
  const expiresAt = now + holdDays * dayMs
  switch (effect) {
    case 'raise':
      payment.approved += amount
      payment.expiresAt = Math.max(payment.expiresAt ?? 0, expiresAt)
      return amount
    case 'release':
      payment.reversed += Math.min(amount, open)
      payment.isFinal = payment.cleared > 0 && amount >= open
      return Math.min(amount, open)
    case 'replace':
      payment.approved = payment.reversed + payment.cleared + amount
      payment.expiresAt ??= expiresAt
      return amount - open
    case 'reopen':
      payment.approved = payment.reversed + payment.cleared + amount
      payment.isExpired = false
      payment.expiresAt = expiresAt
      return amount
    case 'clear':
      payment.cleared += amount
      return amount
    case 'clearFinal':
    case 'clearLate':
      payment.cleared += amount
      payment.isFinal = true
      payment.isExpired = false
      return amount
    case 'refund':
      payment.refunded += amount
      return amount
    default:
      return 0
  }
}

/** The payments whose hold is due. */
export const listDue = ({ now, payments }: ModelWorld): ModelPayment[] =>
  [...payments.values()].filter(
    ({ approved, expiresAt, isExpired, isFinal, reversed }) =>
      expiresAt !== null && expiresAt <= now && !isFinal && !isExpired && approved > reversed,
  )

/** Expires a hold. @returns whether it expired now. */
export function expire(world: ModelWorld, paymentId: string): boolean {
  const payment = listDue(world).find((due) => due.paymentId === paymentId)
  if (!payment) return false
  const open = deriveOpenAmount(payment)
  const effect = paymentRules.expiry[derivePaymentState(payment)]
  const before = { ...payment }
  payment.isFinal = effect === 'close'
  payment.isExpired = effect === 'expire'
  countChange(before, payment)
  payment.messages.push(`expiry ${effect} ${open}`)
  world.events += 1
  return true
}
