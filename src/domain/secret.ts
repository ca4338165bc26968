/**
 * A value that prints as its mask in strings, JSON and logs. It has a file of its own because every
 * kind of secret extends it.
 */
export class Secret<Value> {
  readonly #value: Value
  readonly #mask: string

  constructor(value: Value, mask = '****') {
    this.#value = value
    this.#mask = mask
  }

  /** Returns the value in clear. */
  reveal(): Value {
    return this.#value
  }

  toString(): string {
    return this.#mask
  }

  toJSON(): string {
    return this.#mask
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.#mask
  }
}
