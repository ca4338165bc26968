import type { GetCardData, SealedCardData } from '../models.ts'
import type { Calls } from '../transport/calls.ts'
import { path } from '../transport/path.ts'
import type { CallOptions } from '../transport/transport.ts'

export interface CardDataRelay {
  /**
   * Hands on what the device asks, and what it is answered: ciphertext that only the device opens.
   * Scope `cards.encrypted`, and `pin.encrypted` where the PIN is asked for.
   * @param body as the device made it, unchanged.
   */
  relay(publicToken: string, body: GetCardData, options?: CallOptions): Promise<SealedCardData>
}

export const cardData = ({ reveal }: Calls): CardDataRelay => ({
  relay: (publicToken, body, options) =>
    reveal<'getCardData'>(path`/cards/${publicToken}/encrypted`, body, options),
})
