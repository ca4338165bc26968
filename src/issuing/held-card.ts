import { type CardStatusCode, isFinal, statusAt } from '../domain/card-status.ts'
import { expiryOfDate } from '../domain/expiry.ts'
import { Problem } from '../errors.ts'
import { type CardRow, type LockedCard, lockCard } from '../storage/cards.ts'
import type { Connection } from '../storage/database.ts'
import type { Caller, Issuing } from './issuing.ts'

/**
 * The caller's card, held until the transaction ends.
 * @throws `Problem` `card_not_found`, the same for another client's card and for none.
 */
export async function holdCard(
  connection: Connection,
  caller: Caller,
  publicToken: string,
): Promise<LockedCard> {
  const card = await lockCard(connection, publicToken, caller.clientId)
  if (!card) throw new Problem('card_not_found')
  return card
}

/** The status that holds now, whether or not the sweep has come by. */
export const statusNow = (
  issuing: Pick<Issuing, 'now'>,
  card: Pick<CardRow, 'statusCode' | 'expiryDate'>,
): CardStatusCode => statusAt(card.statusCode, expiryOfDate(card.expiryDate), issuing.now())

/** @throws `Problem` `card_closed` on a card in a final status. */
export function refuseClosed(issuing: Issuing, card: LockedCard): void {
  if (isFinal(statusNow(issuing, card))) throw new Problem('card_closed')
}
