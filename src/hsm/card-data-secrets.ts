import type { CardDisclosure } from './card-data-hsm.ts'
import { openPan } from './card-number-verbs.ts'
import { type KeyRing, referencedKey } from './key-ring.ts'
import { openPin } from './pin-verbs.ts'
import { makeCvv2 } from './verification-verbs.ts'

/** What a card shows, as the wire names it. Clear: it goes into a seal and nowhere else. */
export interface CardSecrets {
  readonly PAN: string
  readonly CVV: string
  /** `YYYY-MM`. */
  readonly expiryDate: string
  readonly PIN?: string
}

/** Opens what a card shows. */
export async function openCardSecrets(
  ring: KeyRing,
  { card, cvk, expiry, pin }: CardDisclosure,
): Promise<CardSecrets> {
  const pan = await openPan(ring, card)
  const { key } = await referencedKey(ring, 'cvk', cvk)
  if (pin?.pinBlock === null) throw new Error('A PVV does not reveal its PIN.')
  return {
    PAN: pan.reveal(),
    CVV: await makeCvv2(key, pan, expiry),
    expiryDate: expiry.yearMonth(),
    ...(pin && { PIN: await openPin(ring, pan, pin.pinBlock, pin.pinKey) }),
  }
}

/** Seconds since 1970, as JWTs tell instants (RFC 7519 2). */
export const numericDate = (at: Date): number => Math.floor(at.getTime() / 1000)
