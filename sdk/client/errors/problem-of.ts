import type { Answer } from '../transport/attempt.ts'
import { CallFailed } from './call-failed.ts'
import type { PinfoldError } from './pinfold-error.ts'
import { Problem, type ProblemAnswer, type ProblemError } from './problem.ts'
import { problemClasses } from './problems.ts'

/** The error that an answer other than a success is thrown as. */
export function problemOf({ headers, status, text }: Answer): PinfoldError {
  const retryAfterSeconds = retryAfterOf(headers)
  const told = parse(text)
  if (typeof told?.code !== 'string' || typeof told.title !== 'string') {
    return new CallFailed('unexpected_answer', { status, retryAfterSeconds })
  }
  const { code, title } = told
  const Kind = Object.hasOwn(problemClasses, code)
    ? problemClasses[code as keyof typeof problemClasses]
    : Problem
  const requestId = textOf(told.requestId) ?? headers.get('x-request-id') ?? undefined
  const errors = errorsOf(told.errors)
  const answer: ProblemAnswer = { code, title, status, requestId, errors, retryAfterSeconds }
  return new Kind({ ...answer, detail: textOf(told.detail) })
}

/** `Retry-After` in seconds; the service does not use dates there. */
export function retryAfterOf(headers: Headers): number | undefined {
  const text = headers.get('retry-after')
  return text !== null && /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const told: unknown = JSON.parse(text)
    return typeof told === 'object' && told !== null ? (told as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

const errorsOf = (value: unknown): readonly ProblemError[] =>
  Array.isArray(value) ? value.filter(isProblemError) : []

const isProblemError = (value: unknown): value is ProblemError =>
  typeof value === 'object' &&
  value !== null &&
  'pointer' in value &&
  typeof value.pointer === 'string' &&
  'detail' in value &&
  typeof value.detail === 'string'
