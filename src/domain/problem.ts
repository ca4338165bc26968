import { type ProblemKind, problemKinds } from './problem-kinds.ts'

/** The stable code of a failure, which callers switch on. */
export type ProblemCode = keyof typeof problemKinds

/** One fault of a request. */
export interface ProblemError {
  /** A JSON Pointer (RFC 6901) to a member of the body or to a parameter; `""` is the whole. */
  readonly pointer: string
  /**
   * The name of the faulty query parameter or header, or `""` if the name is not repeated. Absent
   * if the fault is in the body.
   */
  readonly parameter?: string
  readonly detail: string
}

/** The details of one occurrence. They must not hold a PIN, PAN, CVV, key or SQL. */
interface ProblemCircumstances {
  readonly detail?: string | undefined
  readonly errors?: readonly ProblemError[] | undefined
  /** Sent as `Retry-After`, rounded up to whole seconds. */
  readonly retryAfterSeconds?: number | undefined
  /** Sent as `Allow`. */
  readonly allow?: readonly string[] | undefined
  /** Further members of the document, by name. */
  readonly members?: Readonly<Record<string, string>> | undefined
  /** Further response headers, such as `www-authenticate`; names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Whether nothing failed, and so the log has no error. */
  readonly isExpected?: true
  /** The cause, for the log only. */
  readonly cause?: unknown
}

/**
 * A failure of the table. It can be thrown anywhere and is answered as `application/problem+json`.
 */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly title: string
  readonly detail: string | undefined
  readonly errors: readonly ProblemError[] | undefined
  /** Further members of the document, by name. */
  readonly members: Readonly<Record<string, string>>
  /** Whether nothing failed: a limit of the service refused. */
  readonly isExpected: boolean
  /** The response headers of the failure; names in lower case. */
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ProblemCode, circumstances: ProblemCircumstances = {}) {
    const kind: ProblemKind = problemKinds[code]
    super(
      circumstances.detail ?? kind.title,
      circumstances.cause === undefined ? undefined : { cause: circumstances.cause },
    )
    this.name = 'Problem'
    this.code = code
    this.status = kind.status
    this.title = kind.title
    this.detail = circumstances.detail
    this.errors = circumstances.errors
    this.members = circumstances.members ?? {}
    this.isExpected = circumstances.isExpected ?? false
    const { allow, headers, retryAfterSeconds = kind.retryAfterSeconds } = circumstances
    this.headers = {
      ...(allow && { allow: allow.join(', ') }),
      // At least one second: "Retry-After: 0" would cause an immediate retry.
      ...(retryAfterSeconds !== undefined && {
        'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds))),
      }),
      ...headers,
    }
  }
}

/** A reason not to start that an operator can correct. The message is complete. */
export class StartRefusal extends Error {}

/** The fault of a query parameter or header. */
export const parameterFault = (name: string, detail: string): ProblemError => ({
  pointer: `/${name}`,
  parameter: name,
  detail,
})

/** Makes the failure `validation_failed` with one or more faults. */
export const validationFailed = (...errors: readonly ProblemError[]): Problem =>
  new Problem('validation_failed', { errors })
