/**
 * A PIN in clear. `pin` reads it; printed, logged, spread or made into JSON it shows a mask, so that it
 * goes nowhere by accident.
 *
 * ```ts
 * const { pin } = await pinfold.pins.reveal(publicToken)
 * ```
 */
export class RevealedPin {
  readonly #pin: string

  constructor(pin: string) {
    this.#pin = pin
  }

  get pin(): string {
    return this.#pin
  }

  toString(): string {
    return '****'
  }

  toJSON(): { readonly pin: string } {
    return { pin: '****' }
  }
}
