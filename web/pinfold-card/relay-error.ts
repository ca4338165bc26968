/** A failure that a relay answered with, or `unreachable`. The code is what to switch on. */
export class RelayError extends Error {
  readonly code: string
  /** When to try again, if the answer says so. */
  readonly retryAfterSeconds: number | null

  constructor(code: string, retryAfterSeconds: number | null = null) {
    super(`The relay answered ${code}.`)
    this.name = 'RelayError'
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
}
