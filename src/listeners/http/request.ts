import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { type JSONVisitor, visit } from 'jsonc-parser'
import { holdsPan, withoutUuids } from '../../domain/pan.ts'
import { Problem, type ProblemError, validationFailed } from '../../domain/problem.ts'

/** The version of the interface (docs/reference/api.md, "Versioning"). */
export const apiVersion = '2026-11-20'

type Headers = Pick<IncomingMessage, 'headers'>

/** Returns the caller's request id, or null if it sent none that is safe to repeat. */
export function givenRequestId({ headers }: Headers): string | null {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : null
}

/**
 * Returns the caller's request id if it may contain a card number: it is repeated in the answer,
 * and never recorded.
 */
export function riskyRequestId(request: Headers): string | null {
  const given = givenRequestId(request)
  // Dots and underscores can separate digits, as dashes do.
  return given !== null && holdsPan(withoutUuids(given).replaceAll(/[._]/g, '-')) ? given : null
}

/** Returns the id of a request: the caller's own, or a new one. */
export function chooseRequestId(request: Headers): string {
  const given = givenRequestId(request)
  return given !== null && riskyRequestId(request) === null ? given : randomUUID()
}

/**
 * Returns the trace id of a request (W3C Trace Context, section 3.2), or null. An id that may
 * contain a PAN is ignored: one in a few hundred random ids looks like a PAN, and an attacker could
 * put any PAN into the log.
 */
export function parseTraceId(headers: IncomingHttpHeaders): string | null {
  const given = headers.traceparent
  const [, traceId] =
    /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/.exec(String(given ?? '')) ?? []
  return traceId && !holdsPan(traceId) && !/^[0-9]+$/.test(traceId) ? traceId : null
}

const bodies = new WeakMap<object, Uint8Array>()

/** Keeps the exact bytes of a body, for routes that record their hash. */
export function keepBody(request: object, bytes: Uint8Array): void {
  bodies.set(request, bytes)
}

/** Returns the exact bytes of the body of a request whose route keeps them. */
export const findBody = (request: object): Uint8Array => bodies.get(request) ?? new Uint8Array()

type RawHeaders = Pick<IncomingMessage, 'headers' | 'rawHeaders'>

/** Counts a header by its name in lower case: of two, Node.js passes on only one. */
const timesGiven = ({ rawHeaders }: RawHeaders, name: string): number =>
  rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length

/**
 * Whether a request names exactly one host, as HTTP/1.1 requires: of two, a proxy may have used the
 * other (RFC 9112 section 3.2).
 */
export const isHostClear = (request: RawHeaders & Pick<IncomingMessage, 'httpVersion'>): boolean =>
  request.httpVersion !== '1.1' || timesGiven(request, 'host') === 1

/**
 * Returns the `Authorization` header. Of two, Node.js passes on the first, while a proxy may have
 * checked the second.
 * @throws `Problem` `malformed_request` if it occurs more than once.
 */
export function parseAuthorization(request: RawHeaders): string | undefined {
  if (timesGiven(request, 'authorization') > 1) {
    throw new Problem('malformed_request', { detail: 'The header Authorization must occur once.' })
  }
  return request.headers.authorization
}

/** @throws `Problem` `malformed_request` if another version of the interface is requested. */
export function refuseOtherVersion(headers: IncomingHttpHeaders): void {
  const asked = headers['api-version']
  if (asked === undefined || asked === apiVersion) return
  throw new Problem('malformed_request', {
    detail: `The header Api-Version must be ${apiVersion}, or be absent.`,
  })
}

/**
 * Returns the idempotency key, in either spelling, or null.
 * @throws `Problem` `malformed_request` unless it has 1 to 255 visible ASCII characters and occurs
 *   once.
 */
export function parseIdempotencyKey(headers: IncomingHttpHeaders): string | null {
  const spelled = [headers['idempotency-key'], headers.idempotencykey]
  const keys = [...new Set(spelled.filter((key) => key !== undefined))]
  if (keys.length === 0) return null
  const [key] = keys
  if (keys.length === 1 && typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) return key
  throw new Problem('malformed_request', {
    detail:
      'The header Idempotency-Key must have 1 to 255 visible ASCII characters and occur once.',
  })
}

// A byte order mark makes the text invalid JSON (RFC 8259 section 8.1): it is not removed.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses a request body: UTF-8, one JSON object, without duplicate members.
 * @returns the object; undefined for an empty body.
 * @throws `Problem` `malformed_request`; `validation_failed` at `""` if it is JSON, but not an
 *   object.
 */
export function parseJsonBody(bytes: Uint8Array): object | undefined {
  if (bytes.length === 0) return undefined
  const text = malformedUnless(
    () => 'The body is not UTF-8.',
    () => decoder.decode(bytes),
  )
  const body: unknown = malformedUnless(
    () => `The body is not JSON${describeFirstFault(text)}.`,
    () => JSON.parse(text),
  )
  checkStructure(text)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw validationFailed({ pointer: '', detail: 'must be an object' })
  }
  return body
}

function malformedUnless<Result>(describe: () => string, parse: () => Result): Result {
  try {
    return parse()
  } catch {
    throw new Problem('malformed_request', { detail: describe() })
  }
}

/**
 * Describes the position of the first fault in invalid JSON. The message of `JSON.parse` cannot be
 * used, because it quotes the text, which may contain a PIN.
 */
function describeFirstFault(text: string): string {
  let place = ''
  const onError = (_code: unknown, _offset: number, _length: number, line: number, at: number) => {
    place ||= describePlace(line, at)
  }
  try {
    visit(text, { onError }, { disallowComments: true, allowTrailingComma: false })
  } catch {
    // Nested too deeply for the parser: the position is unknown.
  }
  return place
}

/** Describes a position in a text, counted from 0, with counts from 1. */
const describePlace = (line: number, character: number): string =>
  ` at line ${line + 1}, column ${character + 1}`

/** The maximum depth of nested objects and arrays. Code that walks a body calls itself. */
const depthMost = 100

/**
 * Refuses bodies that are nested too deeply, and duplicate members: `JSON.parse` keeps the last of
 * two, so another one may have been checked.
 * @throws `Problem` `malformed_request`.
 */
function checkStructure(text: string): void {
  const open: Set<string>[] = []
  const onBegin = () => {
    if (open.length === depthMost) {
      throw new Problem('malformed_request', {
        detail: `The body has more than ${depthMost} nested objects or arrays.`,
      })
    }
    open.push(new Set())
  }
  const onEnd = () => {
    open.pop()
  }
  const onObjectProperty: JSONVisitor['onObjectProperty'] = (name, _, __, line, character) => {
    const names = open.at(-1)
    if (names?.has(name)) {
      const place = describePlace(line, character)
      throw new Problem('malformed_request', {
        detail: `The body has a second member of the same name${place}.`,
      })
    }
    names?.add(name)
  }
  visit(text, {
    onObjectBegin: onBegin,
    onObjectProperty,
    onObjectEnd: onEnd,
    onArrayBegin: onBegin,
    onArrayEnd: onEnd,
  })
}

/**
 * A rule that a schema cannot express. Returns the fault, or null. It may be called with an invalid
 * body.
 */
export type BodyRule = (body: Readonly<Record<string, unknown>>) => ProblemError | null

/** Requires exactly one of these members. */
export const requireExactlyOne =
  (...names: readonly [string, string, ...string[]]): BodyRule =>
  (body) => {
    if (names.filter((name) => body[name] !== undefined).length === 1) return null
    const list = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
    return { pointer: '', detail: `must have exactly one of ${list}` }
  }

/** Allows a member only together with another one. */
export const onlyWith =
  (name: string, other: string): BodyRule =>
  (body) =>
    body[name] === undefined || body[other] !== undefined
      ? null
      : { pointer: `/${name}`, detail: `is allowed with ${other} only` }

/** Requires a member if another one is present. */
export const alwaysWith =
  (name: string, other: string): BodyRule =>
  (body) =>
    body[other] === undefined || body[name] !== undefined
      ? null
      : { pointer: `/${name}`, detail: `must be given with ${other}` }

/** Lists the faults of a body by the rules of its route. */
export function bodyFaults({ body, routeOptions }: FastifyRequest): ProblemError[] {
  if (typeof body !== 'object' || body === null) return []
  const { bodyRules = [] } = routeOptions.config
  return bodyRules
    .map((rule) => rule(body as Readonly<Record<string, unknown>>))
    .filter((fault) => fault !== null)
}
