import {
  CallFailed,
  type PinfoldError,
  Problem,
  type ProblemAnswer,
  type ProblemError,
} from '../errors.ts'
import { problemClasses } from '../problems.ts'
import type { Answer } from './attempt.ts'

export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>

/**
 * Parses JSON of the type in the document, without validation.
 * @throws CallFailed `unexpected_answer`
 */
export function parseContent<Json>({ status, text }: Answer): Json {
  const content = objectIn(text)
  if (content === undefined) throw new CallFailed('unexpected_answer', { status })
  return content as Json
}

/** Parses a JSON list. @throws CallFailed `unexpected_answer` */
export function parseList<Json>(answer: Answer): Json {
  const list = parseContent<Json>(answer)
  if (!Array.isArray(list)) throw new CallFailed('unexpected_answer', { status: answer.status })
  return list
}

/**
 * Returns the query of the next page (RFC 8288). The link's address is ignored, since it must be
 * the current one.
 * @throws CallFailed `unexpected_answer`
 */
export function parseNextQuery({ headers, status }: Answer): QueryValues | null {
  const [, target] = /<([^>]*)>\s*;\s*rel="next"/.exec(headers.get('link') ?? '') ?? []
  if (target === undefined) return null
  const base = 'http://any'
  if (!URL.canParse(target, base)) throw new CallFailed('unexpected_answer', { status })
  return Object.fromEntries(new URL(target, base).searchParams)
}

/** Returns the error of an unsuccessful answer. */
export function parseProblem({ headers, status, text }: Answer): PinfoldError {
  const retryAfterSeconds = parseRetryAfter(headers)
  const problem = objectIn(text)
  if (typeof problem?.code !== 'string' || typeof problem.title !== 'string') {
    return new CallFailed('unexpected_answer', { status, retryAfterSeconds })
  }
  const { code, title } = problem
  const Kind = Object.hasOwn(problemClasses, code)
    ? problemClasses[code as keyof typeof problemClasses]
    : Problem
  const requestId = toText(problem.requestId) ?? headers.get('x-request-id') ?? undefined
  const errors = parseErrors(problem.errors)
  const answer: ProblemAnswer = { code, title, status, requestId, errors, retryAfterSeconds }
  const replacedBy = toText(problem.replacedBy)
  return new Kind({ ...answer, detail: toText(problem.detail), replacedBy })
}

/**
 * `Retry-After` in seconds (RFC 9110 section 10.2.3). The service gives seconds; a proxy in front
 * of it may give a date.
 */
export function parseRetryAfter(headers: Headers, nowMs = Date.now()): number | undefined {
  const text = headers.get('retry-after') ?? ''
  if (/^[0-9]{1,9}$/.test(text)) return Number(text)
  const at = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - nowMs) / 1_000))
}

/** Parses an object or a list; undefined for other text. */
export function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

const toText = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

const parseErrors = (value: unknown): readonly ProblemError[] =>
  Array.isArray(value) ? value.filter(isProblemError) : []

const isProblemError = (value: unknown): value is ProblemError =>
  typeof value === 'object' &&
  value !== null &&
  'pointer' in value &&
  typeof value.pointer === 'string' &&
  'detail' in value &&
  typeof value.detail === 'string'
