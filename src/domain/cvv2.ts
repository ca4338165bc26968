import { Secret } from './secret.ts'

declare const cvv2: unique symbol

/**
 * A CVV2 as the cardholder typed it: three digits, or four for schemes that print four. It prints
 * as `****`. It has its own file because it shares no rule with PINs or PANs.
 */
export class Cvv2 extends Secret<string> {
  // Without a member of its own, the type would accept a PIN.
  declare readonly [cvv2]: true

  /** @throws RangeError if the text is not a CVV2. The message does not contain the digits. */
  constructor(digits: string) {
    if (!/^[0-9]{3,4}$/.test(digits)) throw new RangeError('not a CVV2')
    super(digits)
  }
}
