import { CallFailed } from '../errors.ts'
import type {
  Authorization,
  ChosenPin,
  MessageResult,
  Note,
  PinStatus,
  Simulate,
  SimulateAdvice,
  SimulateClearing,
  SimulateIncrement,
  SimulateRefund,
  SimulateReversal,
  TryStatus,
} from '../models.ts'
import { type Calls, type ChangeOptions, readAfter } from '../transport/calls.ts'
import { type CallOptions, path } from '../transport/transport.ts'

export interface Pins {
  /** Sets the PIN that the cardholder chose. It restores no tries. Scope `pin.write`. */
  set(publicToken: string, chosen: ChosenPin, options?: ChangeOptions): Promise<void>
  /** The current PIN in clear: recorded and limited. Scope `pin.reveal`. */
  reveal(publicToken: string, options?: CallOptions): Promise<RevealedPin>
  /** Scope `pin.read`. */
  retrieveStatus(publicToken: string, options?: CallOptions): Promise<PinStatus>
  /** Restores the tries and returns the status read afterwards. Scopes `pin.write`, `pin.read`. */
  unblock(publicToken: string, note?: Note, options?: ChangeOptions): Promise<PinStatus>
}

export function pins({ get, post, reveal }: Calls): Pins {
  const retrieveStatus: Pins['retrieveStatus'] = (publicToken, options) =>
    get<'getPinStatus'>(path`/card-pin/${publicToken}/pin/status`, options)
  return {
    retrieveStatus,
    set: (publicToken, chosen, options) =>
      post<'setPin'>(path`/card-pin/${publicToken}/pin`, chosen, options),
    async reveal(publicToken, options) {
      const address = path`/card-pin/${publicToken}/pin`
      const { pin } = await reveal<'getCurrentPin'>(address, undefined, options)
      if (typeof pin !== 'string') throw new CallFailed('unexpected_answer')
      return new RevealedPin(pin)
    },
    unblock: (publicToken, note, options) =>
      readAfter(post<'unblockPin'>(path`/card-pin/${publicToken}/pin/unblock`, note, options), () =>
        retrieveStatus(publicToken, options),
      ),
  }
}

/**
 * A PIN in clear. Only `pin` returns it; printing, logging, spreading and JSON show a mask.
 *
 * ```ts
 * const { pin } = await pinfold.pins.reveal(publicToken)
 * ```
 */
export class RevealedPin {
  readonly #pin: string

  constructor(pin: string) {
    this.#pin = pin
  }

  get pin(): string {
    return this.#pin
  }

  toString(): string {
    return '****'
  }

  toJSON(): { readonly pin: string } {
    return { pin: '****' }
  }
}

export interface Cvvs {
  /** Scope `cvv.read`. */
  retrieveStatus(publicToken: string, options?: CallOptions): Promise<TryStatus>
  /** Restores the tries and returns the status read afterwards. Scopes `cvv.write`, `cvv.read`. */
  unblock(publicToken: string, note?: Note, options?: ChangeOptions): Promise<TryStatus>
  /** Blocks at once and returns the status read afterwards. Scopes `cvv.write`, `cvv.read`. */
  block(publicToken: string, note?: Note, options?: ChangeOptions): Promise<TryStatus>
}

export function cvvs({ get, put }: Calls): Cvvs {
  const retrieveStatus: Cvvs['retrieveStatus'] = (publicToken, options) =>
    get<'getCvvStatus'>(path`/card-cvv/${publicToken}/cvv/status`, options)
  const moveTo =
    (status: TryStatus['status']): Cvvs['unblock'] =>
    (publicToken, note, options) => {
      const address = path`/card-cvv/${publicToken}/cvv/status`
      const change = put<'updateCvvStatus'>(address, { ...note, status }, options)
      return readAfter(change, () => retrieveStatus(publicToken, options))
    }
  return { retrieveStatus, unblock: moveTo('Unblocked'), block: moveTo('Blocked') }
}

/** In the sandbox only. */
export interface Simulator {
  /** Plays the card network; its attempts spend tries. Scope `simulator.write`. */
  authorize(tried: Simulate, options?: ChangeOptions): Promise<Authorization>
  /** Authorizes an amount that raises a payment. Scope `simulator.write`. */
  increment(raised: SimulateIncrement, options?: ChangeOptions): Promise<Authorization>
  /** Takes back an approved amount, or everything open. Scope `simulator.write`. */
  reverse(reversal: SimulateReversal, options?: ChangeOptions): Promise<MessageResult>
  /** The network decided what is held. Scope `simulator.write`. */
  advise(advice: SimulateAdvice, options?: ChangeOptions): Promise<MessageResult>
  /** Moves money from the card. Scope `simulator.write`. */
  clear(clearing: SimulateClearing, options?: ChangeOptions): Promise<MessageResult>
  /** Moves money back to the card. Scope `simulator.write`. */
  refund(refund: SimulateRefund, options?: ChangeOptions): Promise<MessageResult>
}

export const simulator = ({ post }: Calls): Simulator => ({
  authorize: (tried, options) =>
    post<'simulateAuthorization'>(path`/simulator/authorizations`, tried, options),
  increment: (raised, options) =>
    post<'simulateIncrement'>(path`/simulator/increments`, raised, options),
  reverse: (reversal, options) =>
    post<'simulateReversal'>(path`/simulator/reversals`, reversal, options),
  advise: (advice, options) => post<'simulateAdvice'>(path`/simulator/advices`, advice, options),
  clear: (clearing, options) =>
    post<'simulateClearing'>(path`/simulator/clearings`, clearing, options),
  refund: (refund, options) => post<'simulateRefund'>(path`/simulator/refunds`, refund, options),
})
