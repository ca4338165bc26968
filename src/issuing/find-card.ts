import { Problem } from '../errors.ts'
import { findCard as findStoredCard } from '../storage/cards.ts'
import { type CardRecord, cardRecord } from './card-record.ts'
import type { Caller, Issuing } from './issuing.ts'

/** The caller's card. @throws `Problem` `card_not_found`. */
export async function findCard(
  issuing: Issuing,
  caller: Caller,
  publicToken: string,
): Promise<CardRecord> {
  const card = await findStoredCard(issuing.database, publicToken, caller.clientId)
  if (!card) throw new Problem('card_not_found')
  return cardRecord(issuing, card)
}
