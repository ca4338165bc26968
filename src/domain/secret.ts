/**
 * A value that prints as its mask wherever it ends up: in a string, in JSON, in a log. In a file of
 * its own, because every kind of secret is made of it.
 */
export class Secret<Value> {
  readonly #value: Value
  readonly #mask: string

  constructor(value: Value, mask = '****') {
    this.#value = value
    this.#mask = mask
  }

  /** The value in clear. */
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
