import { PinfoldError } from './pinfold-error.ts'

/** Why a call came to nothing that the service would have said. Stable: switch on it. */
export type CallFailedCode = keyof typeof messages

const messages = {
  invalid_argument: 'An argument is not what it should be.',
  insecure_service: 'A client secret and a PIN are sent over https only; allowHttp permits http.',
  connection_failed: 'The service could not be reached, or broke off.',
  timed_out: 'The service did not answer in time.',
  unexpected_answer: 'This is no answer of the service: something before it may have answered.',
  wrong_issuer: 'The service says that its name is another than the baseUrl given.',
  token_refused: 'No access token was given.',
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
