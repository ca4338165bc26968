type CardStatusCode = '02' | '00' | '62' | '41' | '43' | '46' | '54' | '83'

interface AttemptFailed {
  readonly remainingTries: number
  readonly entryMode: string
  readonly reference: string
}

interface Blocked {
  /** Whether the tries are used up, or the client said so. */
  readonly blockedBy: 'tries' | 'client'
}

interface Revealed {
  /** To whom it was disclosed. */
  readonly clientId: string
  /** In the answer to which request. */
  readonly requestId: string
}

/** What each type of event says beside the card and the event's number on it. */
interface EventDetails {
  readonly 'card.created': {
    readonly cardProduct: number
    readonly cardType: 'Physical' | 'Virtual'
    readonly cardStatusCode: CardStatusCode
  }
  readonly 'card.status_changed': { readonly from: CardStatusCode; readonly to: CardStatusCode }
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
}

/** An act on a card, as a webhook is notified of it. */
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

/** What a client asked to have sent, to try its endpoint. */
export interface PingMessage {
  readonly type: 'webhook.ping'
  readonly timestamp: string
  readonly data: { readonly webhookId: string }
}

/**
 * Everything that a webhook is sent. Later versions may add types: leave aside what you do not
 * know.
 */
export type PinfoldMessage = PinfoldEvent | PingMessage
