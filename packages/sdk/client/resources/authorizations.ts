import type { RecordedAuthorization } from '../models.ts'
import { type Calls, type Listing, listing, type Query } from '../transport/calls.ts'
import { type CallOptions, path } from '../transport/transport.ts'

export interface Authorizations {
  /**
   * Approvals and declines of all cards, newest first, each with its reason. Scope `payments.read`.
   */
  list(query?: Query<'listAuthorizations'>, options?: CallOptions): Listing<RecordedAuthorization>
  /** The approvals and declines of a card, newest first. Scope `payments.read`. */
  listByCard(
    publicToken: string,
    query?: Query<'listCardAuthorizations'>,
    options?: CallOptions,
  ): Listing<RecordedAuthorization>
  /** An approval or a decline with all of its checks. Scope `payments.read`. */
  retrieve(authorizationId: string, options?: CallOptions): Promise<RecordedAuthorization>
}

export const authorizations = ({ get, page }: Calls): Authorizations => ({
  list: (query = {}, options) =>
    listing((rest) => page<'listAuthorizations'>(path`/authorizations`, rest, options), query),
  listByCard(publicToken, query = {}, options) {
    const address = path`/cards/${publicToken}/authorizations`
    return listing((rest) => page<'listCardAuthorizations'>(address, rest, options), query)
  },
  retrieve: (authorizationId, options) =>
    get<'findAuthorization'>(path`/authorizations/${authorizationId}`, options),
})
