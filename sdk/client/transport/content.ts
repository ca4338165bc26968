import { CallFailed } from '../errors/call-failed.ts'
import type { Answer } from './attempt.ts'
import type { QueryValues } from './transport.ts'

/** JSON that came, taken for what the document says that comes. @throws CallFailed `unexpected_answer` */
export function contentOf<Json>({ status, text }: Answer): Json {
  const content = parsed(text)
  if (typeof content !== 'object' || content === null) {
    throw new CallFailed('unexpected_answer', { status })
  }
  return content as Json
}

/** The same, where it is a list. @throws CallFailed `unexpected_answer` */
export function listOf<Json>(answer: Answer): Json {
  const list = contentOf<Json>(answer)
  if (!Array.isArray(list)) throw new CallFailed('unexpected_answer', { status: answer.status })
  return list
}

/**
 * The query of the next page (RFC 8288). Its address is left aside: it is the one that was asked.
 * @throws CallFailed `unexpected_answer`
 */
export function nextOf({ headers, status }: Answer): QueryValues | null {
  const [, target] = /<([^>]*)>\s*;\s*rel="next"/.exec(headers.get('link') ?? '') ?? []
  if (target === undefined) return null
  const base = 'http://any'
  if (!URL.canParse(target, base)) throw new CallFailed('unexpected_answer', { status })
  return Object.fromEntries(new URL(target, base).searchParams)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
