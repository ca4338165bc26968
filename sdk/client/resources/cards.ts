import type {
  Attempt,
  Card,
  CardStatus,
  ChangeCardStatus,
  CreateCard,
  CreatedCard,
} from '../models.ts'
import type { Calls, ChangeOptions } from '../transport/calls.ts'
import { type Listing, listing } from '../transport/listing.ts'
import type { Query } from '../transport/operations.ts'
import { path } from '../transport/path.ts'
import { readAfter } from '../transport/read-after.ts'
import type { CallOptions } from '../transport/transport.ts'

export interface Cards {
  /** Creates a card of a product from the list, with a random PIN. Scope `cards.write`. */
  create(card: CreateCard, options?: ChangeOptions): Promise<CreatedCard>
  /** Scope `cards.read`. */
  retrieve(publicToken: string, options?: CallOptions): Promise<Card>
  /** The client's cards, newest first. Scope `cards.read`. */
  list(query?: Query<'listCards'>, options?: CallOptions): Listing<Card>
  /** Scope `cards.read`. */
  retrieveStatus(publicToken: string, options?: CallOptions): Promise<CardStatus>
  /** Moves the card and answers the status that is read afterwards. Scopes `cards.write`, `cards.read`. */
  changeStatus(
    publicToken: string,
    change: ChangeCardStatus,
    options?: ChangeOptions,
  ): Promise<CardStatus>
  /** Every PIN and CVV that was tried, newest first; never the value. Scope `cards.read`. */
  listAttempts(
    publicToken: string,
    query?: Query<'listAttempts'>,
    options?: CallOptions,
  ): Listing<Attempt>
}

export function cards({ get, page, post, put }: Calls): Cards {
  const retrieveStatus: Cards['retrieveStatus'] = (publicToken, options) =>
    get<'getCardStatus'>(path`/cards/${publicToken}/status`, options)
  return {
    retrieveStatus,
    create: (card, options) => post<'createCard'>(path`/cards`, card, options),
    retrieve: (publicToken, options) => get<'findCard'>(path`/cards/${publicToken}`, options),
    list: (query = {}, options) =>
      listing((rest) => page<'listCards'>(path`/cards`, rest, options), query),
    changeStatus: (publicToken, change, options) =>
      readAfter(put<'changeCardStatus'>(path`/cards/${publicToken}/status`, change, options), () =>
        retrieveStatus(publicToken, options),
      ),
    listAttempts(publicToken, query = {}, options) {
      const address = path`/cards/${publicToken}/attempts`
      return listing((rest) => page<'listAttempts'>(address, rest, options), query)
    },
  }
}
