import { Problem } from '../../domain/problem.ts'
import type { CardDataKey } from '../../hsm/contract/hsm.ts'
import type { CardOperations } from '../cards/cards.ts'

export type { CardDataKey }

/** The public keys of card data, the ones to use first. @throws `Problem` `unavailable` until made. */
export const listCardDataKeys = ({
  hsm,
}: Pick<CardOperations, 'hsm'>): Promise<readonly CardDataKey[]> => hsm.cardDataKeys()

/** One of them, by its `kid`. @throws `Problem` `not_found`. */
export async function findCardDataKey(
  issuing: Pick<CardOperations, 'hsm'>,
  keyId: string,
): Promise<CardDataKey> {
  const key = (await listCardDataKeys(issuing)).find((each) => each.keyId === keyId)
  if (!key) throw new Problem('not_found')
  return key
}
