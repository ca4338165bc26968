import { Problem } from '../errors.ts'
import type { StoredPin } from '../hsm/hsm.ts'
import type { CardWithProduct } from '../storage/cards.ts'

/** A card's PIN where it is kept to be shown. @throws `Problem` `pin_not_revealable`. */
export function revealablePin({ pinBlock, pinKey }: CardWithProduct): StoredPin {
  if (!pinBlock) throw new Problem('pin_not_revealable')
  return { pinBlock, pvv: null, pinKey }
}
