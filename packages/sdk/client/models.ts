/** What goes out and comes back, under the names of the service's document. */
import type { PinfoldEvent } from '../webhooks/event.ts'
import type { components } from './generated/openapi.ts'

type Schemas = components['schemas']

export type Product = Schemas['Product']
export type CardType = CreatedCard['cardType']
export type CreateCard = Schemas['CreateCard'] & { readonly cardType: CardType }
export type CreatedCard = Schemas['CreatedCard']
/** A card as it is shown and listed: with no number, PIN or CVV in it. */
export type Card = Schemas['Card']
export type CardStatus = Schemas['CardStatus']
export type CardStatusCode = CardStatus['cardStatusCode']
/** A status to be set. Expired begins by itself; Inactive is where a card may begin. */
export type ChangeCardStatus = Schemas['ChangeCardStatus'] & {
  readonly cardStatusCode: Exclude<CardStatusCode, '02' | '54'>
}
export type Attempt = Schemas['Attempt']
/** Of a PIN or a CVV: `Blocked` exactly when no tries remain. */
export type TryStatus = Schemas['TryStatus']
/** Why, and by whom, for the record. No card number belongs there. */
export type Note = Schemas['UnblockPin']
/** A PIN that the cardholder chose: in clear, or sealed on the device with `sealPin`. */
export type ChosenPin = Note &
  (
    | { readonly pin: string; readonly encryptedPin?: never }
    | { readonly encryptedPin: string; readonly pin?: never }
  )
/** As the device made it with `requestCardData`. */
export type GetCardData = Schemas['GetCardData']
/** Ciphertext, for the device alone. */
export type SealedCardData = Schemas['CardData']
export type Simulate = Schemas['Simulate']
export type Authorization = Schemas['Authorization']
/** An approval or a decline as it is read later, with its reason and every check. */
export type RecordedAuthorization = Schemas['RecordedAuthorization']
export type CreateWebhook = Schemas['CreateWebhook']
/** `secret` is there but in the answer to a repeat: then rotate it. */
export type CreatedWebhook = Schemas['CreatedWebhook']
export type UpdateWebhook = Schemas['UpdateWebhook']
export type Webhook = Schemas['Webhook']
export type RotatedSecret = Schemas['RotatedSecret']
export type Delivery = Schemas['Delivery']
export type Queued = Schemas['Queued']
export type Replay = Schemas['Replay']
export type Replaying = Schemas['Replaying']

/** An event as it is read and followed: a webhook brings it under the same id. */
export type EventRecord = PinfoldEvent & { readonly id: string }
export type EventType = PinfoldEvent['type']
