import type { EntryMode } from './entry-mode.ts'
import type { Merchant } from './merchant.ts'
import type { Money } from './money.ts'
import { type Period, periods } from './spending.ts'
import type { Transaction } from './transaction.ts'

/** How a card is used, as controls name it. A cash advance by chip is `chip` and `cash`. */
export const channels = [
  'chip',
  'contactless',
  'magstripe',
  'ecommerce',
  'moto',
  'cash',
  'cashback',
  'quasiCash',
] as const
export type Channel = (typeof channels)[number]

/** The allowed and the blocked values. A block beats an allow. */
interface ControlList {
  /** Null allows everything, and an empty list nothing. */
  readonly allowed: readonly string[] | null
  readonly blocked: readonly string[]
}

/** The lists of controls, in the order in which they are checked. */
export const controlLists = ['merchants', 'merchantCategories', 'countries', 'channels'] as const
export type ControlListName = (typeof controlLists)[number]

/** A maximum per period. Null is no limit, and 0 allows nothing. */
export interface SpendingLimit {
  readonly period: Period
  /** Only transactions of this channel count; null: all do. */
  readonly channel: Channel | null
  /** In the smallest unit of the product's currency. */
  readonly maximumAmount: number | null
  readonly maximumCount: number | null
}

/** The permitted uses of a card. */
export interface ControlRules extends Readonly<Record<ControlListName, ControlList>> {
  /** The card can be used once. */
  readonly singleUse: boolean
  /** The card can be used at the merchant only that it was used at first. */
  readonly merchantLock: boolean
  readonly limits: readonly SpendingLimit[]
}

/** The spending controls of a card or a product. */
export interface Controls extends ControlRules {
  /** Rules that are evaluated and recorded, and decide nothing. */
  readonly shadow: ControlRules | null
}

/** The amount of a payment that limits count: the approved, or the open and cleared amount. */
export const limitBases = ['authorized', 'cleared'] as const
export type LimitBasis = (typeof limitBases)[number]

/** How many days a product may let holds last. */
export const holdDaysMost = 90

/** The terms of a product for its own limits, for those of its cards, and for holds. */
interface ProductTerms {
  /** Of their days: an IANA name. */
  readonly timeZone: string
  readonly limitBasis: LimitBasis
  /** How long holds last; null: by the merchant's category. */
  readonly holdDays: number | null
}

/** The spending controls of a product. */
export interface ProductControls extends Controls, ProductTerms {}

/** Terms as a request describes them. */
export type ProductTermsMembers = Partial<ProductTerms>

/** Controls as a request describes them: an absent member allows everything. */
type ControlRulesMembers = Partial<
  Record<ControlListName, Partial<ControlList>> & {
    readonly singleUse: boolean
    readonly merchantLock: boolean
    readonly limits: readonly (Pick<SpendingLimit, 'period'> & Partial<SpendingLimit>)[]
  }
>
export type ControlsMembers = ControlRulesMembers & {
  readonly shadow?: ControlRulesMembers | null
}

const completeList = ({ allowed, blocked }: Partial<ControlList> = {}): ControlList => ({
  allowed: allowed ?? null,
  blocked: blocked ?? [],
})

const completeRules = (members: ControlRulesMembers): ControlRules => ({
  merchants: completeList(members.merchants),
  merchantCategories: completeList(members.merchantCategories),
  countries: completeList(members.countries),
  channels: completeList(members.channels),
  singleUse: members.singleUse ?? false,
  merchantLock: members.merchantLock ?? false,
  limits: (members.limits ?? []).map(({ channel, maximumAmount, maximumCount, period }) => ({
    period,
    channel: channel ?? null,
    maximumAmount: maximumAmount ?? null,
    maximumCount: maximumCount ?? null,
  })),
})

/** Completes the controls that a request describes. */
export const completeControls = (members: ControlsMembers = {}): Controls => ({
  ...completeRules(members),
  shadow: members.shadow ? completeRules(members.shadow) : null,
})

/** Completes the controls that a request describes of a product. */
export const completeProductControls = ({
  holdDays = null,
  limitBasis = 'authorized',
  timeZone = 'UTC',
  ...members
}: ControlsMembers & ProductTermsMembers = {}): ProductControls => ({
  timeZone,
  limitBasis,
  holdDays,
  ...completeControls(members),
})

/** Whether controls decide and record nothing. */
export const areOpen = (controls: ProductControls): boolean =>
  JSON.stringify(completeProductControls(controls)) === JSON.stringify(completeProductControls())

/** A limit as a request describes it, before its schema has accepted it. */
interface DescribedLimit {
  readonly period?: unknown
  readonly channel?: unknown
  readonly maximumCount?: unknown
}

/** The faults of limits that contradict each other, each with its place in the list. */
export function* limitFaults(
  limits: readonly DescribedLimit[],
): Generator<{ readonly pointer: string; readonly detail: string }> {
  const known = new Set<string>()
  for (const [index, { channel, maximumCount, period }] of limits.entries()) {
    const pointer = `/limits/${index}`
    const name = `${period} ${channel ?? ''}`
    if (known.has(name)) {
      yield { pointer, detail: 'has the period and the channel of an earlier limit' }
    }
    known.add(name)
    if (period === 'transaction' && maximumCount != null) {
      yield { pointer: `${pointer}/maximumCount`, detail: 'is not for the period transaction' }
    }
  }
}

/** The name of a limit in answers: `limits.day`, `limits.day.cash`. */
export const nameLimit = ({ channel, period }: Pick<SpendingLimit, 'channel' | 'period'>): string =>
  ['limits', period, ...(channel === null ? [] : [channel])].join('.')

/** The most limits that do not contradict each other. */
export const limitsMost = periods.length * (channels.length + 1)

/** A transaction as controls see it. */
export interface ControlledTransaction {
  readonly entryMode: EntryMode
  readonly transactionType: Transaction['transactionType']
  /** The amount that the card is charged. */
  readonly money: Money | null
  /** The charge for the cash of a purchase with cash; null or absent if not known. */
  readonly cashCharge?: number | null
  readonly merchant: Merchant | null
}

/** Money that the card receives is not controlled: the purchase was. */
export const isControlled = ({
  transactionType,
}: Pick<ControlledTransaction, 'transactionType'>): boolean =>
  transactionType !== 'refund' && transactionType !== 'credit'

/** The channels of a transaction: one or two. A cash machine is `cash`, however it reads a card. */
export function listChannels({
  entryMode,
  transactionType,
}: Pick<ControlledTransaction, 'entryMode' | 'transactionType'>): readonly Channel[] {
  const presented = entryMode === 'atm' ? 'cash' : entryMode
  const used = channels.find((channel) => channel === transactionType)
  return used === undefined || used === presented ? [presented] : [presented, used]
}
