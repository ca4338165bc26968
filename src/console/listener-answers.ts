import type { Static, TSchema } from 'typebox'
import { Check } from 'typebox/value'
import { Problem, type ProblemCode } from '../domain/problem.ts'
import { problemKinds } from '../domain/problem-kinds.ts'
import { ProblemSchema } from '../listeners/http/openapi/problem-responses.ts'
import type { ApiAnswer } from './screen.ts'

/**
 * Returns the body of an answer that has the form of a schema.
 * @throws `Problem` of the listener; `internal_error` for a body of another form.
 */
export function parseAnswer<Schema extends TSchema>(
  answer: ApiAnswer,
  schema: Schema,
): Static<Schema> {
  if (answer.status >= 400) throw parseProblem(answer)
  if (Check(schema, answer.body)) return answer.body
  throw new Problem('internal_error', {
    cause: new Error('An answer of the service does not match its schema.'),
  })
}

/** Returns the failure that the private listener answered. */
export function parseProblem({ body, status }: ApiAnswer): Problem {
  if (!Check(ProblemSchema, body) || !isProblemCode(body.code)) {
    return new Problem('internal_error', {
      cause: new Error(`The service answered with status ${status}.`),
    })
  }
  const { code, detail, errors = [] } = body
  return new Problem(code, { detail, errors })
}

const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(problemKinds, code)

/** Returns the cursor of the next page (RFC 8288), or null. */
export function cursorAfter({ headers }: ApiAnswer): string | null {
  const [, target = ''] = /^<([^>]*)>; rel="next"$/.exec(headers.link ?? '') ?? []
  return new URLSearchParams(target.split('?')[1]).get('cursor')
}
