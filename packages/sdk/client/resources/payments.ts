import type { Payment, PaymentWithMessages } from '../models.ts'
import { type Calls, type Listing, listing, type Query } from '../transport/calls.ts'
import { type CallOptions, path } from '../transport/transport.ts'

export interface Payments {
  /** The payments of all cards, newest first. Scope `payments.read`. */
  list(query?: Query<'listPayments'>, options?: CallOptions): Listing<Payment>
  /** The payments of a card, newest first. Scope `payments.read`. */
  listByCard(
    publicToken: string,
    query?: Query<'listCardPayments'>,
    options?: CallOptions,
  ): Listing<Payment>
  /** A payment with the messages after its authorization. Scope `payments.read`. */
  retrieve(paymentId: string, options?: CallOptions): Promise<PaymentWithMessages>
}

export const payments = ({ get, page }: Calls): Payments => ({
  list: (query = {}, options) =>
    listing((rest) => page<'listPayments'>(path`/payments`, rest, options), query),
  listByCard(publicToken, query = {}, options) {
    const address = path`/cards/${publicToken}/payments`
    return listing((rest) => page<'listCardPayments'>(address, rest, options), query)
  },
  retrieve: (paymentId, options) => get<'findPayment'>(path`/payments/${paymentId}`, options),
})
