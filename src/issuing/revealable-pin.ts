import { Problem } from '../errors.ts'
import type { StoredPin } from '../hsm/hsm.ts'

/** A card's PIN where it is kept to be shown. @throws `Problem` `pin_not_revealable`. */
export function revealablePin({ pinBlock, pinKey }: KeptPin): StoredPin {
  if (!pinBlock) throw new Problem('pin_not_revealable')
  return { pinBlock, pvv: null, pinKey }
}

interface KeptPin {
  readonly pinBlock: Uint8Array | null
  readonly pinKey: string
}
