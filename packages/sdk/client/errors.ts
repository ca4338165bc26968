/** Whatever the client throws on purpose. `code` is stable: switch on it. No secret is in it. */
export abstract class PinfoldError extends Error {
  abstract readonly code: string

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
  }
}

/** Why a call came to nothing that the service would have said. Stable: switch on it. */
export type CallFailedCode = keyof typeof messages

const messages = {
  invalid_argument: 'An argument is not valid.',
  insecure_service:
    'Client secrets and PINs are sent over https only. The option allowHttp permits http.',
  connection_failed: 'The service could not be reached, or closed the connection.',
  timed_out: 'The service did not answer in time.',
  unexpected_answer: 'The answer is not one of the service. A proxy may have answered instead.',
  wrong_issuer: 'The name of the service differs from the given baseUrl.',
  token_refused: 'No access token was issued.',
  status_unknown: 'The change was made, but the status could not be read afterwards.',
} as const

export interface CallCircumstances {
  /** What is particular to this occurrence. */
  readonly detail?: string | undefined
  /** The HTTP status, where there was an answer. */
  readonly status?: number | undefined
  /** The `error` of the token endpoint (RFC 6749 section 5.2). */
  readonly oauthError?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly cause?: unknown
}

/** A call that the service did not answer, or that was never sent. */
export class CallFailed extends PinfoldError {
  readonly code: CallFailedCode
  readonly status: number | undefined
  readonly oauthError: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(code: CallFailedCode, circumstances: CallCircumstances = {}) {
    const { cause, detail, oauthError, retryAfterSeconds, status } = circumstances
    super(detail === undefined ? messages[code] : `${messages[code]} ${detail}`, cause)
    this.code = code
    this.status = status
    this.oauthError = oauthError
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** One fault of a request. */
export interface ProblemError {
  /** A JSON Pointer (RFC 6901) to a member or parameter; `""` is the whole body. */
  readonly pointer: string
  /** The query parameter or header at fault. Absent when the fault is in the body. */
  readonly parameter?: string
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

/** Says what happened, and what is wrong with which member or parameter. */
function composeMessage({ detail, errors = [], title }: ProblemAnswer): string {
  const faults = errors.map(({ detail: fault, parameter, pointer }) => {
    const name = parameter ?? (pointer === '' ? 'The body' : pointer)
    return `${name} ${fault.replace(/\.$/, '')}.`
  })
  return [detail ?? title, ...faults].join(' ')
}

/**
 * A refusal of the service. Each code has a class of its own below this one; a code that this
 * version does not know comes as this class.
 */
export class Problem extends PinfoldError {
  readonly code: string
  readonly status: number
  readonly title: string
  /** For people; what a program needs is in `code` and `errors`. */
  readonly detail: string | undefined
  /** What the operator needs. */
  readonly requestId: string | undefined
  /** All that is wrong with the request, at once; empty unless it is `validation_failed`. */
  readonly errors: readonly ProblemError[]
  readonly retryAfterSeconds: number | undefined

  constructor(answer: ProblemAnswer) {
    super(composeMessage(answer))
    this.code = answer.code
    this.status = answer.status
    this.title = answer.title
    this.detail = answer.detail
    this.requestId = answer.requestId
    this.errors = answer.errors ?? []
    this.retryAfterSeconds = answer.retryAfterSeconds
  }
}
