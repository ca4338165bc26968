import { type ControlledTransaction, isControlled } from './controls.ts'
import * as deciding from './decide-controls.ts'
import { findDay, findExcess, type SpendingWindows, type Taking, takeFrom } from './spending.ts'

/**
 * Controls that decide many transactions in the order of time. What depends on the way to use a
 * card and on the day is found once for each, so that a transaction costs a few comparisons.
 */
export interface PreparedControls {
  readonly inForce: deciding.ControlsInForce
  readonly currency: string
  /** Whether the card is locked to its first merchant. */
  readonly isLocked: boolean
  findLimits(use: deciding.CardUse, at: Date): LimitsOfDay
}

/** The limits of a way to use a card on a day. */
interface LimitsOfDay {
  readonly limits: readonly deciding.LimitOfPeriod[]
  readonly windows: readonly deciding.MetLimit[]
}

/** Days begin at full quarters of an hour in UTC, in every time zone. */
const quarterMs = 900_000

/** Prepares controls. Shadow controls decide nothing, and are left out. */
export function prepareControls({
  card,
  currency,
  product,
}: deciding.ControlsInForce): PreparedControls {
  const timeZone = product?.timeZone ?? 'UTC'
  const inForce = {
    product: product && { ...product, shadow: null },
    card: card && { ...card, shadow: null },
    currency,
  }
  const known = new Map<string, LimitsOfDay & { readonly quarter: number }>()
  return {
    inForce,
    currency,
    isLocked: (product?.merchantLock || card?.merchantLock) ?? false,
    findLimits(use, at) {
      const quarter = Math.floor(at.getTime() / quarterMs)
      const name = `${use.entryMode} ${use.transactionType}`
      const last = known.get(name)
      if (last?.quarter === quarter) return last
      const limits = last?.limits ?? deciding.listLimits(inForce, use)
      const windows = deciding.startWindows(limits, findDay(at, timeZone))
      const found = { quarter, limits, windows }
      known.set(name, found)
      return found
    },
  }
}

/** A transaction to decide, and what earlier ones have taken. */
interface PreparedTransaction {
  readonly transaction: ControlledTransaction
  readonly at: Date
  /** Whether a part of the amount may be approved. */
  readonly isPartialAllowed: boolean
  readonly spending: deciding.CardSpending
}

/** The first objection to a transaction, and what the card has spent after it. */
interface PreparedDecision {
  readonly objection: deciding.ControlObjection | null
  /** The amounts that an approval takes. */
  readonly taking: Taking
  readonly spending: deciding.CardSpending
}

/**
 * Decides a transaction like `decideControls` and `findPartialApproval`. If it is approved, takes
 * what it takes.
 */
export function decidePrepared(
  prepared: PreparedControls,
  asked: PreparedTransaction,
): PreparedDecision {
  const { at, isPartialAllowed, spending, transaction } = asked
  const whole = deciding.takeAmount(transaction, prepared.currency)
  if (!isControlled(transaction)) return { objection: null, taking: whole, spending }
  const objection = findObjection(prepared, asked, whole)
  if (!objection) return { objection, taking: whole, spending: take(prepared, asked, whole) }
  const part = isPartialAllowed
    ? deciding.findPartialApproval(prepared.inForce, transaction, at, spending)
    : null
  if (!part) return { objection, taking: whole, spending }
  const taking = { ...whole, amount: part.amount }
  return { objection: null, taking, spending: take(prepared, asked, taking) }
}

function findObjection(
  prepared: PreparedControls,
  { at, spending, transaction }: PreparedTransaction,
  taking: Taking,
): deciding.ControlObjection | null {
  const { limits, windows } = prepared.findLimits(transaction, at)
  return (
    findListObjection(prepared.inForce, transaction, spending.lockedMerchant) ??
    findMoneyObjection(limits, transaction, prepared.currency) ??
    findLimitObjection(windows, taking, spending.windows)
  )
}

/** Returns what a card has spent after an approval. */
function take(
  { findLimits, isLocked }: PreparedControls,
  { at, spending, transaction }: PreparedTransaction,
  taking: Taking,
): deciding.CardSpending {
  const { windows } = findLimits(transaction, at)
  if (windows.length === 0 && !isLocked) return spending
  const { lockedMerchant } = spending
  return {
    windows: takeFrom(spending.windows, windows, taking),
    lockedMerchant: lockedMerchant ?? (isLocked ? (transaction.merchant?.id ?? null) : null),
  }
}

function findListObjection(
  inForce: deciding.ControlsInForce,
  transaction: ControlledTransaction,
  lockedMerchant: string | null,
): deciding.ControlObjection | null {
  for (const owner of deciding.controlOwners) {
    const rules = inForce[owner]
    const [control] = rules ? deciding.objectByLists(rules, transaction, lockedMerchant) : []
    if (control) return { declineReason: deciding.reasonsByControl[control], owner, control }
  }
  return null
}

function findMoneyObjection(
  limits: readonly deciding.LimitOfPeriod[],
  transaction: ControlledTransaction,
  currency: string,
): deciding.ControlObjection | null {
  for (const limit of limits) {
    const declineReason = deciding.objectToMoney(limit, transaction, currency)
    const { control, owner } = limit
    if (declineReason !== null) return { declineReason, owner, control }
  }
  return null
}

function findLimitObjection(
  limits: readonly deciding.MetLimit[],
  taking: Taking,
  spent: SpendingWindows,
): deciding.ControlObjection | null {
  for (const limit of limits) {
    const excess = findExcess(spent, limit, taking)
    const { control, owner } = limit
    if (excess) return { declineReason: deciding.reasonsByExcess[excess], owner, control }
  }
  return null
}
