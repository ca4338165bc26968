import { type ProblemKind, problemKinds } from './problem-kinds.ts'

/** The stable code of a failure: what callers switch on. */
export type ProblemCode = keyof typeof problemKinds

/** One fault of a request. */
export interface ProblemError {
  /** A JSON Pointer (RFC 6901) to a member of the body or to a parameter; `""` is the whole. */
  readonly pointer: string
  /**
   * The name of the query parameter or header that is at fault, or `""` when the name is not
   * repeated. Absent when the fault is in the body.
   */
  readonly parameter?: string
  readonly detail: string
}

/** What is particular to one occurrence. None of it may hold a PIN, PAN, CVV, key or SQL. */
interface ProblemCircumstances {
  readonly detail?: string | undefined
  readonly errors?: readonly ProblemError[] | undefined
  /** Sent as `Retry-After`, rounded up to whole seconds. */
  readonly retryAfterSeconds?: number | undefined
  /** Sent as `Allow`. */
  readonly allow?: readonly string[] | undefined
  /** Further response headers, such as `www-authenticate`; names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** What led to it, for the log alone. */
  readonly cause?: unknown
}

/** A failure from the table, thrown anywhere and answered as `application/problem+json`. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly title: string
  readonly detail: string | undefined
  readonly errors: readonly ProblemError[] | undefined
  /** The response headers that belong to it; names in lower case. */
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
    const { allow, headers, retryAfterSeconds = kind.retryAfterSeconds } = circumstances
    this.headers = {
      ...(allow && { allow: allow.join(', ') }),
      // At least one second: "Retry-After: 0" would invite the caller to spin.
      ...(retryAfterSeconds !== undefined && {
        'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds))),
      }),
      ...headers,
    }
  }
}

/** What keeps the program from starting and an operator can mend: its message says all of it. */
export class StartRefusal extends Error {}

/** The fault of a query parameter or header. */
export const parameterFault = (name: string, detail: string): ProblemError => ({
  pointer: `/${name}`,
  parameter: name,
  detail,
})

/** The failure `validation_failed` with all that is wrong, or with one thing. */
export const validationFailed = (...errors: readonly ProblemError[]): Problem =>
  new Problem('validation_failed', { errors })
