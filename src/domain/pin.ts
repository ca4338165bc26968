/** The fewest digits a PIN has (ISO 9564-1 section 8.1). */
export const PIN_LENGTH_MIN = 4
/** The most digits a PIN has (ISO 9564-1 section 8.1). */
export const PIN_LENGTH_MAX = 12

/** A PIN of 4 to 12 digits. It prints as `****`, whatever its length, wherever it ends up. */
export class Pin {
  readonly #digits: string

  /** Throws a RangeError, which says nothing about the digits, if they are not a PIN. */
  constructor(digits: string) {
    if (!isPin(digits)) throw new RangeError('not a PIN')
    this.#digits = digits
  }

  /** All digits in clear. */
  reveal(): string {
    return this.#digits
  }

  /** How many digits it has. */
  get length(): number {
    return this.#digits.length
  }

  toString(): string {
    return MASK
  }

  toJSON(): string {
    return MASK
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return MASK
  }
}

const MASK = '****'

/** Whether the text is 4 to 12 digits. */
export const isPin = (text: string): boolean => /^[0-9]{4,12}$/.test(text)

/** A PIN from outside, or null if the text is none. */
export const parsePin = (text: string): Pin | null => (isPin(text) ? new Pin(text) : null)
