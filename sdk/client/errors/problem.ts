import { PinfoldError } from './pinfold-error.ts'

/** One thing wrong with a request: `pointer` is a JSON Pointer (RFC 6901), `""` the whole body. */
export interface ProblemError {
  readonly pointer: string
  readonly detail: string
}

/** A problem document (RFC 9457), with what the headers of the answer add. */
export interface ProblemAnswer {
  readonly code: string
  readonly status: number
  readonly title: string
  readonly detail?: string | undefined
  readonly requestId?: string | undefined
  readonly errors?: readonly ProblemError[] | undefined
  readonly retryAfterSeconds?: number | undefined
}

/**
 * A refusal of the service. Each code has a class of its own below this one; a code that this version
 * does not know comes as this class.
 */
export class Problem extends PinfoldError {
  readonly code: string
  readonly status: number
  readonly title: string
  /** For people; what a program needs is in `code` and `errors`. */
  readonly detail: string | undefined
  /** What to tell the operator. */
  readonly requestId: string | undefined
  /** All that is wrong with the request, at once; empty unless it is `validation_failed`. */
  readonly errors: readonly ProblemError[]
  readonly retryAfterSeconds: number | undefined

  constructor(answer: ProblemAnswer) {
    super(answer.detail ?? answer.title)
    this.code = answer.code
    this.status = answer.status
    this.title = answer.title
    this.detail = answer.detail
    this.requestId = answer.requestId
    this.errors = answer.errors ?? []
    this.retryAfterSeconds = answer.retryAfterSeconds
  }
}
