import { Secret } from './secret.ts'

declare const cvv2: unique symbol

/**
 * A CVV2 as it was typed: three digits, or the four that some schemes print. It prints as `****`.
 * It has its own file because it shares no rule with PINs or PANs.
 */
export class Cvv2 extends Secret<string> {
  // Without a member of its own, a PIN would pass for one.
  declare readonly [cvv2]: true

  /** Throws a RangeError, which says nothing about the digits, if they are no CVV2. */
  constructor(digits: string) {
    if (!/^[0-9]{3,4}$/.test(digits)) throw new RangeError('not a CVV2')
    super(digits)
  }
}
