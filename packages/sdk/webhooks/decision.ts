/** An amount in the smallest unit of its currency. */
interface Money {
  readonly amount: number
  /** ISO 4217. */
  readonly currency: string
}

type TransactionType =
  | 'purchase'
  | 'cash'
  | 'cashback'
  | 'quasiCash'
  | 'refund'
  | 'funding'
  | 'credit'
  | 'inquiry'

type EntryMode = 'chip' | 'contactless' | 'magstripe' | 'atm' | 'ecommerce' | 'moto'

/** A request to your endpoint, in the format `pinfold`. Later versions may add members. */
export interface DecisionRequest {
  readonly decisionId: string
  /** `shadow` and `replay` decide nothing. */
  readonly purpose: 'authorize' | 'shadow' | 'replay'
  /** Whether it came from the sandbox's simulator. */
  readonly simulated: boolean
  /** RFC 3339. A later answer changes nothing. */
  readonly deadline: string
  readonly requestedAt: string
  /** Counts the decisions of the card from 1. */
  readonly sequence: number
  readonly card: {
    readonly publicToken: string
    readonly productId: number
    readonly customerReference?: string
    readonly lastFour: string
    /** Your own texts of the card, by key; left out without any. */
    readonly metadata?: Readonly<Record<string, string>>
  }
  readonly authorizationId: string
  /** The payment that an approval opens or raises. */
  readonly paymentId?: string
  readonly step: 'authorization' | 'increment'
  readonly transactionType: TransactionType
  readonly amounts: {
    /** The amount that the cardholder is charged. */
    readonly billing?: Money
    /** The amount that the merchant charges. */
    readonly transaction?: Money
    readonly cashback?: Money
    /** The amount that an approval holds; left out if it holds nothing. */
    readonly hold?: Money
  }
  /** Whether you may approve a part of the hold. */
  readonly partialAllowed: boolean
  readonly entryMode: EntryMode
  readonly cardPresent: boolean
  readonly merchant?: {
    readonly id?: string
    readonly terminalId?: string
    readonly name?: string
    readonly city?: string
    /** ISO 3166-1 alpha-3. */
    readonly country?: string
    /** ISO 18245. */
    readonly categoryCode?: string
  }
  readonly network: {
    readonly networkId: string
    readonly reference: string
    readonly transactionId?: string
  }
  readonly checks: readonly { readonly check: string; readonly result: string }[]
  /** The limits of product and card, with what was spent before. */
  readonly limits: readonly {
    readonly owner: 'product' | 'card'
    readonly control: string
    readonly maximumAmount?: number
    readonly maximumCount?: number
    readonly spentAmount: number
    readonly spentCount: number
  }[]
}

/** The request at an activation. Answer with status 200 and the same `challenge`. */
export interface DecisionPing {
  readonly type: 'decision.ping'
  readonly challenge: string
}

/** An answer of your endpoint. */
export interface DecisionAnswer {
  /** `challenge` declines, and asks for the authentication of the cardholder. */
  readonly decision: 'approve' | 'decline' | 'challenge'
  /** The part that is approved, if `partialAllowed`; without it, all of the hold. */
  readonly amount?: number
  /** Of a decline; `do_not_honor` unless given. */
  readonly reason?:
    | 'do_not_honor'
    | 'insufficient_funds'
    | 'suspected_fraud'
    | 'amount_over_limit'
    | 'count_over_limit'
    | 'card_restricted'
    | 'merchant_not_allowed'
    | 'transaction_not_permitted'
  /** Of a decline, in place of that of the reason (ISO 8583, field 39). */
  readonly responseCode?: '05' | '51' | '59' | '61' | '65' | '62' | '03' | '57'
  /** Of an approval: RFC 3339, at most 31 days ahead. */
  readonly holdExpiresAt?: string
  /** Your own, up to 2,000 characters of JSON. */
  readonly metadata?: Readonly<Record<string, unknown>>
}
