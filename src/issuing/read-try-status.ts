import { type TryKind, type TryStatus, tryStatus } from '../domain/tries.ts'
import { Problem } from '../errors.ts'
import { findTries } from '../storage/tries.ts'
import type { Caller, Issuing } from './issuing.ts'

/** Whether a card's PIN or CVV can be used, and the tries that remain. Answers in every card status. */
export async function readTryStatus(
  { database }: Issuing,
  caller: Caller,
  publicToken: string,
  kind: TryKind,
): Promise<TryStatus> {
  const tries = await findTries(database, publicToken, kind, caller.clientId)
  if (!tries) throw new Problem('card_not_found')
  return tryStatus(kind, tries)
}
