import type {
  Attempt,
  Card,
  CardOfHistory,
  CardStatus,
  CardType,
  ChangeCard,
  ChangeCardStatus,
  ConvertCard,
  CreateCard,
  CreatedCard,
  GetCardData,
  Product,
  RenewCard,
  ReplaceCard,
  SealedCardData,
  Successor,
} from '../models.ts'
import {
  type Calls,
  type ChangeOptions,
  type Listing,
  listing,
  type Query,
  readAfter,
} from '../transport/calls.ts'
import { type CallOptions, path } from '../transport/transport.ts'

export interface Cards {
  /** Creates a card of a product from the list, with a random PIN. Scope `cards.write`. */
  create(card: CreateCard, options?: ChangeOptions): Promise<CreatedCard>
  /** Scope `cards.read`. */
  retrieve(publicToken: string, options?: CallOptions): Promise<Card>
  /**
   * Changes members of the card's record and returns the card read afterwards. Scopes
   * `cards.write`, `cards.read`.
   */
  change(publicToken: string, change: ChangeCard, options?: ChangeOptions): Promise<Card>
  /** The client's cards, newest first. Scope `cards.read`. */
  list(query?: Query<'listCards'>, options?: CallOptions): Listing<Card>
  /** Scope `cards.read`. */
  retrieveStatus(publicToken: string, options?: CallOptions): Promise<CardStatus>
  /**
   * Changes the card's status and returns the status read afterwards. Scopes `cards.write`,
   * `cards.read`.
   */
  changeStatus(
    publicToken: string,
    change: ChangeCardStatus,
    options?: ChangeOptions,
  ): Promise<CardStatus>
  /**
   * Replaces a card by a new one with another number. The card works until the new one is active,
   * unless the reason ends it. Scope `cards.write`.
   * @throws CardAlreadyReplaced, whose `replacedBy` names the successor.
   */
  replace(
    publicToken: string,
    replacement?: ReplaceCard,
    options?: ChangeOptions,
  ): Promise<Successor>
  /** Retires a replaced card before its successor is active. Scope `cards.write`. */
  completeReplacement(publicToken: string, options?: ChangeOptions): Promise<void>
  /**
   * Renews a card: the number, the PIN and the tries stay. A physical card gets another plastic,
   * which `Migrate` makes current. Scope `cards.write`.
   */
  renew(publicToken: string, renewal?: RenewCard, options?: ChangeOptions): Promise<void>
  /**
   * Cancels a renewal whose plastic has not been produced, or with `notReceived` one whose
   * plastic was lost on its way. Scope `cards.write`.
   */
  cancelRenewal(
    publicToken: string,
    query?: Query<'cancelRenewal'>,
    options?: ChangeOptions,
  ): Promise<void>
  /**
   * Gives a virtual card plastic, which is sent to the address of the cardholder or `fulfilment`.
   * Scope `cards.write`.
   */
  convert(publicToken: string, conversion?: ConvertCard, options?: ChangeOptions): Promise<Card>
  /**
   * The cards that replaced each other, newest first, each with its plastics. Scope `cards.read`.
   * @param publicToken any card of the line.
   */
  listHistory(
    publicToken: string,
    query?: Query<'listCardHistory'>,
    options?: CallOptions,
  ): Listing<CardOfHistory>
  /** All attempts with a PIN or CVV, newest first; never the value. Scope `cards.read`. */
  listAttempts(
    publicToken: string,
    query?: Query<'listAttempts'>,
    options?: CallOptions,
  ): Listing<Attempt>
}

export function cards({ cancel, get, page, patch, post, put }: Calls): Cards {
  const retrieveStatus: Cards['retrieveStatus'] = (publicToken, options) =>
    get<'getCardStatus'>(path`/cards/${publicToken}/status`, options)
  const retrieve: Cards['retrieve'] = (publicToken, options) =>
    get<'findCard'>(path`/cards/${publicToken}`, options)
  return {
    retrieve,
    retrieveStatus,
    create: (card, options) => post<'createCard'>(path`/cards`, card, options),
    change: (publicToken, change, options) =>
      readAfter(patch<'changeCard'>(path`/cards/${publicToken}`, change, options), () =>
        retrieve(publicToken, options),
      ),
    list({ metadata = {}, ...query } = {}, options) {
      const filters = Object.entries(metadata).map(([key, value]) => [`metadata[${key}]`, value])
      const first = { ...query, ...Object.fromEntries(filters) }
      return listing((rest) => page<'listCards'>(path`/cards`, rest, options), first)
    },
    changeStatus: (publicToken, change, options) =>
      readAfter(put<'changeCardStatus'>(path`/cards/${publicToken}/status`, change, options), () =>
        retrieveStatus(publicToken, options),
      ),
    replace: (publicToken, replacement, options) =>
      post<'replaceCard'>(path`/cards/${publicToken}/replace`, replacement, options),
    async completeReplacement(publicToken, options) {
      await put<'completeReplacement'>(
        path`/cards/${publicToken}/complete-replacement`,
        {},
        options,
      )
    },
    renew: (publicToken, renewal = {}, options) =>
      post<'renewCard'>(path`/cards/${publicToken}/renew`, renewal, options),
    cancelRenewal: (publicToken, query, options) =>
      cancel(path`/cards/${publicToken}/renewal`, { ...options, query }),
    convert(publicToken, conversion, options) {
      const body = { cardType: 'Physical' as const, ...conversion }
      return put<'convertCard'>(path`/cards/${publicToken}/card-type`, body, options)
    },
    listHistory(publicToken, query = {}, options) {
      const address = path`/cards/${publicToken}/history`
      return listing((rest) => page<'listCardHistory'>(address, rest, options), query)
    },
    listAttempts(publicToken, query = {}, options) {
      const address = path`/cards/${publicToken}/attempts`
      return listing((rest) => page<'listAttempts'>(address, rest, options), query)
    },
  }
}

export interface CardDataRelay {
  /**
   * Forwards the device's request and returns the answer: ciphertext that only the device decrypts.
   * Scope `cards.encrypted`, and `pin.encrypted` for the PIN.
   * @param body the device's body, unchanged.
   */
  relay(publicToken: string, body: GetCardData, options?: CallOptions): Promise<SealedCardData>
}

export const cardData = ({ reveal }: Calls): CardDataRelay => ({
  relay: (publicToken, body, options) =>
    reveal<'getCardData'>(path`/cards/${publicToken}/encrypted`, body, options),
})

export interface Products {
  /** The active products granted to the client. Scope `cards.read`. */
  list(
    query?: Query<'listProducts'> & { readonly cardType?: CardType },
    options?: CallOptions,
  ): Listing<Product>
}

export const products = ({ page }: Calls): Products => ({
  list: (query = {}, options) =>
    listing((rest) => page<'listProducts'>(path`/products`, rest, options), query),
})
