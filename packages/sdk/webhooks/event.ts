type CardStatusCode = '02' | '00' | '62' | '41' | '43' | '46' | '54' | '83'

type DeclineReason =
  | 'card_not_activated'
  | 'plastic_not_activated'
  | 'plastic_retired'
  | 'card_restricted'
  | 'card_lost'
  | 'card_stolen'
  | 'card_closed'
  | 'card_expired'
  | 'wrong_expiry_date'
  | 'inquiry_not_supported'
  | 'currency_not_supported'
  | 'merchant_category_not_allowed'
  | 'merchant_not_allowed'
  | 'country_not_allowed'
  | 'channel_not_allowed'
  | 'chip_data_missing'
  | 'chip_data_disagrees'
  | 'invalid_chip_data'
  | 'chip_declined'
  | 'fallback_not_allowed'
  | 'cryptogram_replayed'
  | 'wrong_cryptogram'
  | 'wrong_card_value'
  | 'wrong_cavv'
  | 'chip_pin_blocked'
  | 'pin_missing'
  | 'invalid_pin_block'
  | 'wrong_pin'
  | 'pin_blocked'
  | 'wrong_cvv2'
  | 'cvv2_blocked'
  | 'transaction_reversed'
  | 'invalid_amount'
  | 'amount_over_limit'
  | 'count_over_limit'
  | 'do_not_honor'
  | 'insufficient_funds'
  | 'suspected_fraud'
  | 'transaction_not_permitted'
  | 'authentication_required'
  | 'decision_unavailable'
  | 'service_unavailable'

interface AttemptFailed {
  readonly remainingTries: number
  readonly entryMode: string
  readonly reference: string
}

interface Blocked {
  /** Whether all tries were spent, or the client blocked it. */
  readonly blockedBy: 'tries' | 'client'
}

interface Revealed {
  /** The recipient of the disclosure. */
  readonly clientId: string
  /** The ID of the request whose answer disclosed it. */
  readonly requestId: string
}

interface Authorization {
  readonly authorizationId: string
  /** ISO 8583, field 39. */
  readonly responseCode: string
  readonly entryMode: string
  readonly reference: string
  readonly transactionType:
    | 'purchase'
    | 'cash'
    | 'cashback'
    | 'quasiCash'
    | 'refund'
    | 'funding'
    | 'credit'
    | 'inquiry'
  /** In the smallest unit of the currency. */
  readonly amount?: number
  /** ISO 4217, alphabetic code. */
  readonly currency?: string
  /** The amount that the cardholder is charged, as the network converted it. */
  readonly billingAmount?: number
  readonly billingCurrency?: string
  /** Of a purchase with cash: the part of the amount that is paid out. */
  readonly cashbackAmount?: number
  /** The approved part of the amount; left out if all of it is approved. */
  readonly approvedAmount?: number
  readonly merchant?: {
    readonly id?: string
    readonly terminalId?: string
    readonly name?: string
    readonly city?: string
    /** ISO 3166-1 alpha-3. */
    readonly country?: string
    /** Merchant category code, four digits. */
    readonly categoryCode?: string
  }
  readonly networkTransactionId?: string
  /** In the order in which they ran. The last one decided, unless all passed. */
  readonly checks: {
    readonly check:
      | 'card'
      | 'postal_code'
      | 'address_line'
      | 'status'
      | 'expiry'
      | 'plastic'
      | 'transaction_type'
      | 'currency'
      | 'shadow'
      | 'controls'
      | 'chip'
      | 'cryptogram'
      | 'card_value'
      | 'cavv'
      | 'offline_pin'
      | 'pin_block'
      | 'pin'
      | 'cvv2'
      | 'limits'
      | 'decision'
      | 'answer'
    readonly result: 'passed' | 'failed' | 'not_given' | 'blocked' | 'unresolved'
  }[]
  /** Of the try that the last check of a PIN or CVV2 spent. Counts those of its kind from 1. */
  readonly tryNumber?: number
  /** Present if the card's client was asked, also if a fallback decided. */
  readonly decisionId?: string
  /** The party that decided, present with `decisionId`. */
  readonly decidedBy?:
    | 'endpoint'
    | 'fallback:timeout'
    | 'fallback:error'
    | 'rule:timeout'
    | 'rule:error'
  /** The request to the client, with `decisionId`. */
  readonly decision?: {
    /** Left out for the endpoint of all products. */
    readonly productId?: number
    readonly endpointVersion: number
    readonly durationMs: number
    /** Of the answer by HTTP. */
    readonly statusCode?: number
    /** The reason for an answer that is missing or not usable. */
    readonly error?:
      | 'signing_failed'
      | 'connection_failed'
      | 'target_refused'
      | 'bad_status'
      | 'bad_body'
      | 'bad_amount'
      | 'too_large'
      | 'too_many_in_flight'
      | 'breaker_open'
      | 'no_stream'
    /** SHA-256 of the bytes of the request, in hexadecimal. */
    readonly requestHash?: string
    /** SHA-256 of the bytes of the answer, in hexadecimal. */
    readonly answerHash?: string
  }
}

interface ChipCommand {
  /** The `sequence` of the event that reports the queueing. */
  readonly commandNumber: number
  readonly command:
    | 'change_pin'
    | 'unblock_pin'
    | 'block_application'
    | 'unblock_application'
    | 'block_card'
    | 'put_data'
}

/** An edition of a card. */
interface Plastic {
  /** Counts the editions of the card from 0. It is the PAN sequence number of the chip. */
  readonly plasticNumber: number
  readonly reason: 'Issue' | 'Renewal' | 'Reprint' | 'Conversion'
  /** `YYYY-MM-DD`. */
  readonly expiryDate: string
}

interface PaymentChange {
  readonly paymentId: string
  readonly messageId: string
  readonly message: 'increment' | 'reversal' | 'advice' | 'clearing' | 'refund' | 'expiry'
  /** The effect of the message (docs/reference/payments.md). */
  readonly effect: string
  /** The amount of the change, in the smallest unit of the currency. */
  readonly amount: number
  /** ISO 4217, alphabetic code. */
  readonly currency: string
  readonly state: 'open' | 'partlyCleared' | 'cleared' | 'voided' | 'expired'
  readonly approved: number
  readonly reversed: number
  readonly cleared: number
  readonly refunded: number
  /** The amount that is still held. */
  readonly open: number
  /** The card that took the place of the card of the payment. */
  readonly currentCard?: string
}

/** The decision endpoint that changed its state. */
interface EndpointVersion {
  /** Left out for the endpoint of all products. */
  readonly productId?: number
  readonly version: number
}

/** The details of each type of event, beside the card and the event's number. */
interface EventDetails {
  readonly 'card.created': {
    readonly cardProduct: number
    readonly cardType: 'Physical' | 'Virtual'
    readonly cardStatusCode: CardStatusCode
    /** The card that it replaces. */
    readonly replacementFor?: string
  }
  readonly 'card.status_changed': { readonly from: CardStatusCode; readonly to: CardStatusCode }
  readonly 'card.controls_changed': {
    /** Of the new controls. */
    readonly version: number
  }
  readonly 'card.changed': {
    /** The names of the changed members. */
    readonly members: string[]
  }
  readonly 'card.renewal_ordered': Plastic
  readonly 'card.renewed': Plastic & { readonly cardStatusCode: CardStatusCode }
  readonly 'card.renewal_cancelled': Pick<Plastic, 'plasticNumber'>
  readonly 'card.converted': Plastic & { readonly cardStatusCode: CardStatusCode }
  readonly 'card.replaced': {
    /** The successor. */
    readonly replacedBy: string
    readonly reason: 'Lost' | 'Stolen' | 'Damaged' | 'Compromised' | 'Upgrade'
    /** Whether the successor has the PIN of this card. */
    readonly pinMoved: boolean
  }
  readonly 'card.activated': {
    /** Of a successor: the card that it replaces. */
    readonly replacementFor?: string
    /** Of a converted card: its plastic. */
    readonly plasticNumber?: number
  }
  readonly 'card.retired': {
    /** The successor. */
    readonly replacedBy: string
  }
  readonly 'card.renewal_due': {
    /** The days until the last day of the card. */
    readonly daysLeft: number
  }
  readonly 'card.delivery_changed': Pick<Plastic, 'plasticNumber'> & {
    readonly deliveryStatus: 'Produced' | 'Shipped' | 'Delivered' | 'Returned' | 'Cancelled'
  }
  readonly 'card_data.revealed': Revealed & {
    readonly form: 'sessionKey' | 'deviceKey'
    readonly includePin: boolean
    /** With a device key: its thumbprint (RFC 7638, SHA-256, base64url). */
    readonly device?: string
  }
  readonly 'pin.set': object
  readonly 'pin.revealed': Revealed
  readonly 'pin.attempt_failed': AttemptFailed
  readonly 'pin.blocked': Blocked
  readonly 'pin.unblocked': object
  readonly 'cvv.attempt_failed': AttemptFailed
  readonly 'cvv.blocked': Blocked
  readonly 'cvv.unblocked': object
  readonly 'authorization.approved': Authorization & {
    /** The payment that the approval opened or raised; left out if nothing is held. */
    readonly paymentId?: string
  }
  readonly 'authorization.declined': Authorization & {
    /** The reason. Stable: switch on it. */
    readonly declineReason?: DeclineReason
    readonly declinedBy?:
      | 'card'
      | 'product_control'
      | 'card_control'
      | 'pin'
      | 'cvv2'
      | 'chip'
      | 'client'
      | 'fallback'
      | 'service'
    /** The control that declined, such as `limits.day`. */
    readonly control?: string
  }
  readonly 'decision.late': {
    readonly decisionId: string
    readonly authorizationId: string
    /** Milliseconds after the deadline. */
    readonly lateMs: number
    /** The decision in the late answer. */
    readonly decision: 'approve' | 'decline' | 'challenge'
    readonly amount?: number
    readonly reason?: string
  }
  readonly 'decision_endpoint.degraded': EndpointVersion & {
    /** Of the last 50 requests. */
    readonly unanswered: number
  }
  readonly 'decision_endpoint.recovered': EndpointVersion & { readonly degradedSeconds: number }
  readonly 'payment.changed': PaymentChange
  /** Money moved without an authorization. */
  readonly 'payment.forced': PaymentChange
  readonly 'payment.expired': PaymentChange
  /** A command waits for the next online transaction of the chip. */
  readonly 'chip.command_queued': ChipCommand
  readonly 'chip.command_sent': ChipCommand
  readonly 'chip.command_done': ChipCommand
  /** The chip refused it. */
  readonly 'chip.command_failed': ChipCommand
  /** It was sent too often without a result. The chip may have executed it. */
  readonly 'chip.command_unconfirmed': ChipCommand
}

/** A recorded act on a card, as sent to webhooks. */
export type PinfoldEvent = {
  readonly [Type in keyof EventDetails]: {
    readonly type: Type
    /** When it happened (RFC 3339). */
    readonly timestamp: string
    readonly data: {
      readonly publicToken: string
      /** Counts the events of this card from 1, without gaps. */
      readonly sequence: number
    } & EventDetails[Type]
  }
}[keyof EventDetails]

/** A message that a client requested to test its endpoint. */
export interface PingMessage {
  readonly type: 'webhook.ping'
  readonly timestamp: string
  readonly data: { readonly webhookId: string }
}

/** All messages of a webhook. Later versions may add types: ignore unknown ones. */
export type PinfoldMessage = PinfoldEvent | PingMessage
