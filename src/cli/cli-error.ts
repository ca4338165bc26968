/** A command that is not understood. */
export class UsageError extends Error {}

/** No server could be reached, and the service could not be opened. */
export class Unreachable extends Error {}

/** The problem document of a refusal (RFC 9457), as far as it is told here. */
export interface ProblemDocument {
  readonly code?: string
  readonly title?: string
  readonly detail?: string
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
}

/** The service refused. */
export class Refused extends Error {
  readonly status: number
  readonly problem: ProblemDocument

  constructor(status: number, problem: ProblemDocument) {
    const { detail, errors = [], title = `The service answered ${status}.` } = problem
    super([detail ?? title, ...errors.map((each) => `${each.pointer} ${each.detail}`)].join('\n  '))
    this.status = status
    this.problem = problem
  }
}
