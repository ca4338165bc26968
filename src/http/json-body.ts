import { visit } from 'jsonc-parser'
import { Problem, validationFailed } from '../errors.ts'

// A byte order mark is text here, and so no JSON (RFC 8259 section 8.1): it is not taken away unasked.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses a request body: UTF-8, one JSON object, no member named twice.
 * @returns the object; undefined for an empty body.
 * @throws `Problem` `malformed_request`; `validation_failed` at `""` when it is JSON but no object.
 */
export function parseJsonBody(bytes: Uint8Array): object | undefined {
  if (bytes.length === 0) return undefined
  const text = malformedUnless('The body is not UTF-8.', () => decoder.decode(bytes))
  const body: unknown = malformedUnless('The body is not JSON.', () => JSON.parse(text))
  malformedUnless('The body is nested too deeply.', () => refuseDuplicates(text))
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw validationFailed({ pointer: '', detail: 'must be an object' })
  }
  return body
}

function malformedUnless<Result>(detail: string, parse: () => Result): Result {
  try {
    return parse()
  } catch (error) {
    if (error instanceof Problem) throw error
    throw new Problem('malformed_request', { detail })
  }
}

/** `JSON.parse` keeps the last of two members with one name: what was checked may not be what counts. */
function refuseDuplicates(text: string): void {
  const open: Set<string>[] = []
  visit(text, {
    onObjectBegin: () => {
      open.push(new Set())
    },
    onObjectProperty: (name) => {
      const names = open.at(-1)
      if (names?.has(name)) {
        throw new Problem('malformed_request', { detail: 'The body names a member twice.' })
      }
      names?.add(name)
    },
    onObjectEnd: () => {
      open.pop()
    },
  })
}
