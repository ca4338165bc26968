/** The types of requests and answers, by their names in the service's document. */
import type { DecisionAnswer, DecisionRequest } from '../webhooks/decision.ts'
import type { PinfoldEvent } from '../webhooks/event.ts'
import type { components } from './generated/openapi.ts'

export type { DecisionAnswer, DecisionRequest }

type Schemas = components['schemas']

export type Product = Schemas['Product']
export type CardType = CreatedCard['cardType']
export type CreateCard = Schemas['CreateCard'] & { readonly cardType: CardType }
export type CreatedCard = Schemas['CreatedCard']
/** A card in answers: without its number, PIN or CVV. */
export type Card = Schemas['Card']
export type ReplaceCard = Schemas['ReplaceCard']
/** The new card of a replacement. */
export type Successor = Schemas['Successor']
export type CardStatus = Schemas['CardStatus']
export type CardStatusCode = CardStatus['cardStatusCode']
/** A status to set. Expired is set automatically; Inactive is only an initial status. */
export type ChangeCardStatus = Schemas['ChangeCardStatus'] & {
  readonly cardStatusCode: Exclude<CardStatusCode, '02' | '54'>
}
export type RenewCard = Schemas['RenewCard']
/** `cardType` is `Physical` without it: a card gets plastic, and never loses it. */
export type ConvertCard = Omit<Schemas['ConvertCard'], 'cardType'> & {
  readonly cardType?: 'Physical'
}
export type ChangeCard = Schemas['ChangeCard']
/** The spending controls of a card. */
export type CardControls = Schemas['CardControls']
export type ReplaceCardControls = Schemas['ReplaceCardControls']
export type ControlsVersion = Schemas['ControlsVersion']
export type ExplainControls = Schemas['ExplainControls']
export type ControlsExplanation = Schemas['ControlsExplanation']
export type BackTestCardControls = Schemas['BackTestCardControls']
export type ControlsBackTest = Schemas['ControlsBackTest']
export type Attempt = Schemas['Attempt']
/** A card of a line, with its plastics. */
export type CardOfHistory = Schemas['CardOfHistory']
/** The chips of a card that were online, and the commands to them. */
export type CardChip = Schemas['CardChip']
export type QueueChipCommand = Schemas['QueueChipCommand']
export type QueuedChipCommand = Schemas['QueuedChipCommand']
/** The tries of a PIN or a CVV: `Blocked` exactly when none remain. */
export type TryStatus = Schemas['TryStatus']
/** The tries of a PIN, and the state of the PIN in the chip if the card has one. */
export type PinStatus = Schemas['PinStatus']
/** The reason and the person, for the record. Must not contain a card number. */
export type Note = Schemas['UnblockPin']
/** A PIN that the cardholder chose: in clear, or sealed on the device with `sealPin`. */
export type ChosenPin = Note &
  (
    | { readonly pin: string; readonly encryptedPin?: never }
    | { readonly encryptedPin: string; readonly pin?: never }
  )
/** The body that the device made with `requestCardData`. */
export type GetCardData = Schemas['GetCardData']
/** Ciphertext for the device. */
export type SealedCardData = Schemas['CardData']
export type Simulate = Schemas['Simulate']
/** With the id that {@link RecordedAuthorization} is read by. */
export type Authorization = Schemas['SimulatedAuthorization']
/** An approval or a decline as it is read later, with its reason and every check. */
export type RecordedAuthorization = Schemas['RecordedAuthorization']
/** A purchase: the amount that it holds, and the amounts that were moved. */
export type Payment = Schemas['Payment']
/** A payment with the messages after its authorization. */
export type PaymentWithMessages = Schemas['PaymentWithMessages']
export type SimulateIncrement = Schemas['SimulateIncrement']
export type SimulateReversal = Schemas['SimulateReversal']
export type SimulateAdvice = Schemas['SimulateAdvice']
export type SimulateClearing = Schemas['SimulateClearing']
export type SimulateRefund = Schemas['SimulateRefund']
export type RequestRenewals = Schemas['RequestRenewals']
export type RenewalJob = Schemas['RenewalJob']
export type MakeVirtualChip = Schemas['MakeChip']
export type ChipTransaction = Schemas['ChipTransaction']
export type ChipTransactionAnswer = Schemas['ChipAnswer']
/** The effect of a message on its payment. */
export type MessageResult = Schemas['MessageResult']
/** The endpoint that decides a client's authorizations: its draft, and the versions in force. */
export type DecisionEndpoint = Schemas['DecisionEndpoint']
export type DecisionEndpointVersion = Schemas['EndpointVersion']
export type SetDecisionEndpoint = Schemas['PutDecisionEndpoint']
export type RegisteredDecisionEndpoint = Schemas['RegisteredDecisionEndpoint']
export type RotatedDecisionKeys = Schemas['RotatedDecisionKeys']
export type AcceptedAnswer = Schemas['AcceptedAnswer']
/** A decision as it is read later: who decided, and when. */
export type RecordedDecision = Schemas['RecordedDecision']
export type DecisionWithRequest = Schemas['DecisionWithRequest']
/** A past decision, and the present answer of an endpoint to the same request. */
export type DecisionReplay = Schemas['DecisionReplay']
export type CreateWebhook = Schemas['CreateWebhook']
/** `secret` is absent in the answer to a repeat; then rotate it. */
export type CreatedWebhook = Schemas['CreatedWebhook']
export type UpdateWebhook = Schemas['UpdateWebhook']
export type Webhook = Schemas['Webhook']
export type RotatedSecret = Schemas['RotatedSecret']
export type Delivery = Schemas['Delivery']
export type Queued = Schemas['Queued']
export type Replay = Schemas['Replay']
export type Replaying = Schemas['Replaying']

/** An event as listed and streamed; a webhook delivers it under the same ID. */
export type EventRecord = PinfoldEvent & { readonly id: string }
export type EventType = PinfoldEvent['type']
