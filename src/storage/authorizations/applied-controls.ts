import type { LimitBasis } from '../../domain/controls.ts'
import type {
  CardSpending,
  ControlOwner,
  LimitRules,
  LimitsInForce,
  ListedControl,
  MetLimit,
} from '../../domain/decide-controls.ts'
import type { SpendingWindows, Taking } from '../../domain/spending.ts'

/** A control without money that objects. */
interface ControlObjection {
  readonly owner: ControlOwner
  readonly control: ListedControl
}

type OwnRules = LimitRules & { readonly merchantLock: boolean }

/** The controls of a card and its product, as applied to a transaction. */
export interface AppliedControls extends LimitsInForce {
  readonly product: OwnRules | null
  readonly card: OwnRules | null
  readonly productVersion: number
  readonly cardVersion: number
  readonly limitBasis: LimitBasis
  /** How long a hold lasts; null: by the merchant's category. */
  readonly holdDays: number | null
  /** The first objection before a try is spent. */
  readonly objection: ControlObjection | null
  /** The first objection of the shadow controls. */
  readonly shadow: ControlObjection | null
  /** The spending of the card when it was read; null before its first transaction under limits. */
  readonly spending: CardSpending | null
}

/** Reads what database/functions/controls/apply-controls.sql returns. */
export const parseAppliedControls = (text: string): AppliedControls => ({
  product: null,
  card: null,
  objection: null,
  shadow: null,
  spending: null,
  ...(JSON.parse(text) as Omit<
    AppliedControls,
    'product' | 'card' | 'objection' | 'shadow' | 'spending'
  >),
})

/** The amounts that an approval takes from the limits of its card. */
export interface NewSpending extends Taking {
  /** The basis on which later messages of the payment change it (docs/reference/controls.md). */
  readonly basis: LimitBasis
  readonly limits: readonly MetLimit[]
  /** The merchant that the card is locked to, perhaps from now on; null without such a control. */
  readonly lockTo: string | null
  /** The owner of the control. */
  readonly lockedBy: ControlOwner | null
  /** Whether a part of the amount may be approved. */
  readonly isPartialAllowed?: true
  /** The part that the limits of one transaction leave; absent if they allow the whole amount. */
  readonly approvedAmount?: number
  /** Absent if the windows are not known, or a limit objects to what is. */
  readonly foreseen?: ForeseenSpending
}

/** The effect of an approval if no other transaction of the card is settled meanwhile. */
interface ForeseenSpending {
  readonly before: SpendingWindows
  readonly after: SpendingWindows
  /** For move_spending: the amount, the count, the first day of each window, and the basis. */
  readonly taken: Taking & {
    readonly windows: Readonly<Record<string, string>>
    readonly basis: LimitBasis
  }
}

/**
 * Composes what database/functions/limits/reserve-spending.sql reads, with the versions to record.
 * @param spending null for a decline, which takes nothing.
 */
export const toSpending = (
  { cardVersion, productVersion }: AppliedControls,
  spending: NewSpending | null,
): string => JSON.stringify({ productVersion, cardVersion, ...spending })
