import * as controls from './controls.ts'
import type { DeclineReason } from './decline-reason.ts'
import * as spending from './spending.ts'

/** The owner of a control. A card narrows its product: both must allow a transaction. */
export const controlOwners = ['product', 'card'] as const
export type ControlOwner = (typeof controlOwners)[number]

/** The controls of a card and of its product; null for none. */
export interface ControlsInForce {
  readonly product: (controls.Controls & Pick<controls.ProductControls, 'timeZone'>) | null
  readonly card: controls.Controls | null
  /** ISO 4217: of the product, and so of all limits. */
  readonly currency: string
}

/** The amounts that earlier transactions of a card took. */
export interface CardSpending {
  readonly windows: spending.SpendingWindows
  /** The id of the merchant that the card is locked to; null before the first one. */
  readonly lockedMerchant: string | null
}

export const nothingSpent: CardSpending = { windows: {}, lockedMerchant: null }

/** A control that objects to a transaction. */
export interface ControlObjection {
  readonly declineReason: ControlReason
  readonly owner: ControlOwner
  /** `merchants`, `limits.day`. */
  readonly control: string
}

/** The reasons to decline that controls have. */
type ControlReason = Extract<
  DeclineReason,
  | 'merchant_not_allowed'
  | 'merchant_category_not_allowed'
  | 'country_not_allowed'
  | 'channel_not_allowed'
  | 'invalid_amount'
  | 'currency_not_supported'
  | 'amount_over_limit'
  | 'count_over_limit'
>

/** The reason of each control without money, in the order in which they are checked. */
export const reasonsByControl = {
  merchants: 'merchant_not_allowed',
  merchantCategories: 'merchant_category_not_allowed',
  countries: 'country_not_allowed',
  channels: 'channel_not_allowed',
  merchantLock: 'merchant_not_allowed',
} as const satisfies Record<string, ControlReason>

export type ListedControl = keyof typeof reasonsByControl

/** A limit that a transaction meets. */
export interface MetLimit extends spending.WindowLimit {
  readonly owner: ControlOwner
  readonly control: string
  /** Whether it is recorded, and decides nothing. */
  readonly isShadow: boolean
}

/**
 * Decides a transaction by the controls of its card and product: the first objection is the answer
 * to the network. First lists and channels, then limits that need no window, then windows; in each
 * step, the product comes first.
 * @returns every objection; empty if the controls allow it.
 */
export function decideControls(
  inForce: ControlsInForce,
  transaction: controls.ControlledTransaction,
  at: Date,
  { lockedMerchant, windows }: CardSpending = nothingSpent,
): readonly ControlObjection[] {
  if (!controls.isControlled(transaction)) return []
  const lists = listRules(inForce).flatMap(({ owner, rules }) =>
    objectByLists(rules, transaction, lockedMerchant).map((control) => ({
      declineReason: reasonsByControl[control],
      owner,
      control,
    })),
  )
  const timeZone = inForce.product?.timeZone ?? 'UTC'
  const met = meetLimits({ ...inForce, timeZone }, transaction, at)
  const taking = takeAmount(transaction, inForce.currency)
  const limits = met.windows
    .filter(({ isShadow }) => !isShadow)
    .flatMap(({ control, owner, ...limit }): readonly ControlObjection[] => {
      const excess = spending.findExcess(windows, limit, taking)
      return excess === null ? [] : [{ declineReason: reasonsByExcess[excess], owner, control }]
    })
  return [...lists, ...met.objections, ...limits]
}

/** The same decision about the shadow controls, which decide nothing. */
export const decideShadow = (
  { card, product, ...inForce }: ControlsInForce,
  ...transaction: [controls.ControlledTransaction, Date, CardSpending?]
): readonly ControlObjection[] =>
  decideControls(
    {
      ...inForce,
      product: product?.shadow
        ? { ...product.shadow, timeZone: product.timeZone, shadow: null }
        : null,
      card: card?.shadow ? { ...card.shadow, shadow: null } : null,
    },
    ...transaction,
  )

export const reasonsByExcess = { amount: 'amount_over_limit', count: 'count_over_limit' } as const

interface OwnedRules {
  readonly owner: ControlOwner
  readonly rules: controls.ControlRules
}

const listRules = (inForce: ControlsInForce): readonly OwnedRules[] =>
  controlOwners.flatMap((owner) => {
    const rules = inForce[owner]
    return rules ? [{ owner, rules }] : []
  })

/**
 * Lists the controls without money that object. What the network did not send is on no list: it is
 * not blocked, and where something is allowed, it is not.
 */
export function objectByLists(
  rules: controls.ControlRules,
  transaction: controls.ControlledTransaction,
  lockedMerchant: string | null,
): readonly ListedControl[] {
  const { merchant } = transaction
  const presented: Readonly<Record<controls.ControlListName, readonly string[]>> = {
    merchants: [merchant?.id ?? ''],
    merchantCategories: [merchant?.categoryCode ?? ''],
    countries: [merchant?.country ?? ''],
    channels: controls.listChannels(transaction),
  }
  const objecting = controls.controlLists.filter((name) => {
    const { allowed, blocked } = rules[name]
    return presented[name].some(
      (each) => isIn(blocked, each) || (allowed !== null && !isIn(allowed, each)),
    )
  })
  const isElsewhere =
    rules.merchantLock &&
    (merchant?.id === undefined || (lockedMerchant !== null && merchant.id !== lockedMerchant))
  return isElsewhere ? [...objecting, 'merchantLock'] : objecting
}

/** Sets of long lists, which a back-test searches a million times. */
const setsOfLists = new WeakMap<readonly string[], ReadonlySet<string>>()
const longList = 20

function isIn(list: readonly string[], value: string): boolean {
  if (list.length < longList) return list.includes(value)
  const set = setsOfLists.get(list) ?? new Set(list)
  setsOfLists.set(list, set)
  return set.has(value)
}

/** Returns the amount that a transaction takes from its windows. Sums have one currency. */
export const takeAmount = (
  { cashCharge, money }: Pick<controls.ControlledTransaction, 'cashCharge' | 'money'>,
  currency: string,
): spending.Taking => ({
  amount: money?.currency === currency ? money.amount : 0,
  count: money?.amount === 0 ? 0 : 1,
  ...(cashCharge != null && { cash: cashCharge }),
})

/** A part of an amount, and the limit that leaves it. */
export interface PartialApproval {
  readonly amount: number
  readonly limit: Pick<MetLimit, 'control' | 'owner'>
}

/**
 * Finds the part of an amount that the controls of a card and product allow, where they object to
 * the whole amount.
 * @returns null if the controls allow the whole amount, or reject every part.
 */
export function findPartialApproval(
  inForce: ControlsInForce,
  transaction: controls.ControlledTransaction,
  at: Date,
  spent: CardSpending = nothingSpent,
): PartialApproval | null {
  const objections = decideControls(inForce, transaction, at, spent)
  if (objections.some(({ declineReason }) => declineReason !== 'amount_over_limit')) return null
  const timeZone = inForce.product?.timeZone ?? 'UTC'
  const met = meetLimits({ ...inForce, timeZone }, transaction, at)
  const { lowestMaximum } = met
  const windows = met.windows.filter(({ isShadow }) => !isShadow)
  const whole = takeAmount(transaction, inForce.currency)
  if (lowestMaximum?.amount === 0) return null
  // The period `transaction` leaves a part first, and windows perhaps less of it.
  const isOverMaximum = lowestMaximum !== null && whole.amount > lowestMaximum.amount
  const allowed = isOverMaximum ? { ...whole, amount: lowestMaximum.amount } : whole
  const part = spending.findPart(spent.windows, windows, allowed)
  if (part || !isOverMaximum) return part
  const objects = windows.some(
    (limit) => spending.findExcess(spent.windows, limit, allowed) !== null,
  )
  return objects ? null : lowestMaximum
}

/** The limits that a transaction meets: those of its channels and those of all. */
export interface MetLimits {
  /** The lowest limit of the amount of one transaction. */
  readonly lowestMaximum: PartialApproval | null
  /** The objections that depend on no other transaction. */
  readonly objections: readonly ControlObjection[]
  /** The same of the shadow limits, which decide nothing. */
  readonly shadowObjections: readonly ControlObjection[]
  readonly windows: readonly MetLimit[]
}

/** Rules of limits, as the database returns them with a card. */
export type LimitRules = Pick<controls.ControlRules, 'limits' | 'singleUse'> & {
  readonly shadow: Pick<controls.ControlRules, 'limits' | 'singleUse'> | null
}

/** Lists the limits that a transaction meets, those of the product first. */
export function meetLimits(
  { card, currency, product, timeZone }: LimitsInForce,
  transaction: Omit<controls.ControlledTransaction, 'merchant'>,
  at: Date,
): MetLimits {
  if (!controls.isControlled(transaction)) {
    return { lowestMaximum: null, objections: [], shadowObjections: [], windows: [] }
  }
  const met = listLimits({ product, card }, transaction)
  const listObjections = (isShadow: boolean): readonly ControlObjection[] =>
    met.flatMap((limit) => {
      if (limit.isShadow !== isShadow) return []
      const declineReason = objectToMoney(limit, transaction, currency)
      const { control, owner } = limit
      return declineReason === null ? [] : [{ declineReason, owner, control }]
    })
  const windows = startWindows(met, spending.findDay(at, timeZone))
  return {
    lowestMaximum: findLowestMaximum(met),
    objections: listObjections(false),
    shadowObjections: listObjections(true),
    windows,
  }
}

/** Lists the limits of a way to use a card, those of the product first. */
export const listLimits = (
  inForce: Pick<LimitsInForce, 'product' | 'card'>,
  use: CardUse,
): readonly LimitOfPeriod[] =>
  controlOwners.flatMap((owner) => {
    const rules = inForce[owner]
    return [
      ...(rules ? meetLimitsOf(rules, { owner, isShadow: false }, use) : []),
      ...(rules?.shadow ? meetLimitsOf(rules.shadow, { owner, isShadow: true }, use) : []),
    ]
  })

/** Returns the windows that limits have on a day (`YYYY-MM-DD`). */
export const startWindows = (limits: readonly LimitOfPeriod[], day: string): readonly MetLimit[] =>
  limits.flatMap(({ period, ...limit }) =>
    period === 'transaction' ? [] : [{ ...limit, startsOn: spending.startWindow(period, day) }],
  )

/** Finds the lowest limit of the amount of one transaction. */
function findLowestMaximum(met: readonly LimitOfPeriod[]): PartialApproval | null {
  const [lowest] = met
    .flatMap(({ isShadow, maximumAmount: amount, period, ...limit }) =>
      isShadow || amount === null || period !== 'transaction' ? [] : [{ amount, limit }],
    )
    .toSorted((one, other) => one.amount - other.amount)
  return lowest ?? null
}

/** The limits of a card and of its product. */
export interface LimitsInForce {
  readonly product: LimitRules | null
  readonly card: LimitRules | null
  readonly currency: string
  readonly timeZone: string
}

/** How a card is used, as far as limits depend on it. */
export type CardUse = Pick<controls.ControlledTransaction, 'entryMode' | 'transactionType'>

/** A limit of a period, which may have no window. */
export type LimitOfPeriod = Omit<MetLimit, 'startsOn'> & { readonly period: spending.Period }

function meetLimitsOf(
  { limits, singleUse }: Pick<controls.ControlRules, 'limits' | 'singleUse'>,
  owned: Pick<MetLimit, 'owner' | 'isShadow'>,
  use: CardUse,
): readonly LimitOfPeriod[] {
  const used = controls.listChannels(use)
  const met = limits
    .filter(({ channel }) => channel === null || used.includes(channel))
    .map(({ channel, maximumAmount, maximumCount, period }) => ({
      ...owned,
      control: controls.nameLimit({ period, channel }),
      period,
      window: channel === null ? period : `${period}.${channel}`,
      maximumAmount,
      maximumCount,
    }))
  if (!singleUse) return met
  const once = { period: 'lifetime', window: 'lifetime', maximumAmount: null } as const
  return [...met, { ...owned, ...once, control: 'singleUse', maximumCount: 1 }]
}

/** The objection to an amount that a limit of amounts cannot be compared with, or that is over. */
export function objectToMoney(
  { maximumAmount, period, window }: LimitOfPeriod | Omit<LimitOfPeriod, 'isShadow'>,
  { cashCharge, money }: Pick<controls.ControlledTransaction, 'cashCharge' | 'money'>,
  currency: string,
): ControlReason | null {
  if (maximumAmount === null || money?.amount === 0) return null
  if (!money) return 'invalid_amount'
  if (money.currency !== currency) return 'currency_not_supported'
  const amount = window.endsWith('.cashback') ? (cashCharge ?? money.amount) : money.amount
  return period === 'transaction' && amount > maximumAmount ? 'amount_over_limit' : null
}
