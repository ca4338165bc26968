/**
 * The base of all deliberate errors of the client. `code` is stable: switch on it. It contains no
 * secret.
 */
export abstract class PinfoldError extends Error {
  abstract readonly code: string

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
  }
}

/** The reason of a failure other than a refusal by the service. Stable: switch on it. */
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
  /** Details of this occurrence. */
  readonly detail?: string | undefined
  /** The HTTP status, if there was an answer. */
  readonly status?: number | undefined
  /** The `error` of the token endpoint (RFC 6749 section 5.2). */
  readonly oauthError?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly cause?: unknown
}

/** A call without an answer, or that was never sent. */
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

/** A problem document (RFC 9457), with the related headers of the answer. */
export interface ProblemAnswer {
  readonly code: string
  readonly status: number
  readonly title: string
  readonly detail?: string | undefined
  readonly requestId?: string | undefined
  readonly errors?: readonly ProblemError[] | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly replacedBy?: string | undefined
}

/** Says what happened, and what is wrong with which member or parameter. */
function composeMessage({ detail, errors = [], title }: ProblemAnswer): string {
  const faults = errors.map(({ detail: fault, parameter, pointer }) => {
    const name = parameter ?? (pointer === '' ? 'The body' : pointer)
    return `${name} ${fault.replace(/\.$/, '')}.`
  })
  return [title, detail, ...faults].filter((part) => part !== undefined).join(' ')
}

/** A refusal of the service. Each code has its own subclass; an unknown code has this class. */
export class Problem extends PinfoldError {
  readonly code: string
  readonly status: number
  readonly title: string
  /** For people; programs use `code` and `errors`. */
  readonly detail: string | undefined
  /** The reference of the request for the operator. */
  readonly requestId: string | undefined
  /** All faults of the request; empty unless it is `validation_failed`. */
  readonly errors: readonly ProblemError[]
  readonly retryAfterSeconds: number | undefined
  /** The successor of the card: with `card_already_replaced`. */
  declare readonly replacedBy: string | undefined

  constructor(answer: ProblemAnswer) {
    super(composeMessage(answer))
    this.code = answer.code
    this.status = answer.status
    this.title = answer.title
    this.detail = answer.detail
    this.requestId = answer.requestId
    this.errors = answer.errors ?? []
    this.retryAfterSeconds = answer.retryAfterSeconds
    // Other refusals have no successor to print.
    if (answer.replacedBy !== undefined) this.replacedBy = answer.replacedBy
  }
}
