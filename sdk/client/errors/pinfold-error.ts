/** Whatever the client throws on purpose. `code` is stable: switch on it. No secret is in it. */
export abstract class PinfoldError extends Error {
  abstract readonly code: string

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
  }
}
