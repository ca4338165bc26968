import { inspect } from 'node:util'

const mask = '[key]'

/** The bytes of a key. It prints as its mask; `reveal()` is for the primitive that works with it. */
export class SecretKey {
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  reveal(): Uint8Array {
    return this.#bytes
  }

  toString(): string {
    return mask
  }

  toJSON(): string {
    return mask
  }

  [inspect.custom](): string {
    return mask
  }
}
