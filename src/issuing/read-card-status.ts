import { type CardStatus, describeCardStatus } from '../domain/card-status.ts'
import { Problem } from '../errors.ts'
import { findCard } from '../storage/cards.ts'
import { statusNow } from './held-card.ts'
import type { Caller, Issuing } from './issuing.ts'

/** The status of the caller's card, as it holds now. @throws `Problem` `card_not_found`. */
export async function readCardStatus(
  issuing: Issuing,
  caller: Caller,
  publicToken: string,
): Promise<CardStatus> {
  const card = await findCard(issuing.database, publicToken, caller.clientId)
  if (!card) throw new Problem('card_not_found')
  return describeCardStatus(statusNow(issuing, card))
}
