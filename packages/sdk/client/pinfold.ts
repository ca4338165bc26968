import type { VerifierKey } from '../../audit/notes.ts'
import { type PinfoldOptions, parseSettings } from './options.ts'
import { type Authorizations, authorizations } from './resources/authorizations.ts'
import {
  type CardDataRelay,
  type Cards,
  cardData,
  cards,
  type Products,
  products,
} from './resources/cards.ts'
import { type Chips, chips } from './resources/chips.ts'
import { type Controls, controls } from './resources/controls.ts'
import { type DecisionEndpoints, decisionEndpoint } from './resources/decision-endpoint.ts'
import { type Decisions, decisions } from './resources/decisions.ts'
import { type Events, events } from './resources/events.ts'
import { type Payments, payments } from './resources/payments.ts'
import { type Cvvs, cvvs, type Pins, pins, type Simulator, simulator } from './resources/pins.ts'
import { type FetchedReceipt, fetchReceipt, type ReceiptOptions } from './resources/receipts.ts'
import { type Renewals, renewals } from './resources/renewals.ts'
import { type SandboxPlastics, sandboxPlastics } from './resources/sandbox-plastics.ts'
import { type VirtualChips, virtualChips } from './resources/virtual-chips.ts'
import { type Webhooks, webhooks } from './resources/webhooks.ts'
import { createCalls } from './transport/calls.ts'
import { createTransport } from './transport/transport.ts'

/** A client of the service. Printing it shows no secret. */
export interface Pinfold {
  readonly products: Products
  readonly cards: Cards
  readonly renewals: Renewals
  readonly controls: Controls
  readonly chips: Chips
  readonly pins: Pins
  readonly cvvs: Cvvs
  readonly authorizations: Authorizations
  readonly payments: Payments
  readonly decisionEndpoint: DecisionEndpoints
  readonly cardData: CardDataRelay
  readonly decisions: Decisions
  readonly events: Events
  readonly webhooks: Webhooks
  readonly simulator: Simulator
  readonly virtualChips: VirtualChips
  readonly sandboxPlastics: SandboxPlastics
  /**
   * Returns the receipt of an act, verified with keys of the audit log (`parseVerifierKeys` of
   * `@pinfold/sdk/audit`). Scope `events.read`.
   * @param entry `Audit-Entry` of a disclosure's answer, or the `id` of an event
   */
  receipt(
    entry: string,
    keys: readonly VerifierKey[],
    options?: ReceiptOptions,
  ): Promise<FetchedReceipt>
}

/**
 * Creates a client. It sends no request yet; the first call fetches a token, which is renewed.
 * @throws CallFailed `invalid_argument`, `insecure_service`.
 */
export function createPinfold(options: PinfoldOptions): Pinfold {
  const transport = createTransport(parseSettings(options))
  const calls = createCalls(transport)
  return {
    products: products(calls),
    cards: cards(calls),
    renewals: renewals(calls),
    controls: controls(calls),
    chips: chips(calls),
    pins: pins(calls),
    cvvs: cvvs(calls),
    authorizations: authorizations(calls),
    payments: payments(calls),
    decisionEndpoint: decisionEndpoint(calls),
    cardData: cardData(calls),
    decisions: decisions(calls, transport),
    events: events(calls, transport),
    webhooks: webhooks(calls),
    simulator: simulator(calls),
    virtualChips: virtualChips(calls),
    sandboxPlastics: sandboxPlastics(calls),
    receipt: (entry, keys, options) => fetchReceipt(transport, entry, keys, options),
  }
}
