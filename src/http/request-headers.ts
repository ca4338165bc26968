import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { holdsPan } from '../domain/pan.ts'
import { Problem } from '../errors.ts'

/** The version of the wire contract that is spoken here (contract, section 6). */
export const apiVersion = '2026-11-20'

type Headers = Pick<IncomingMessage, 'headers'>

/** The caller's own request id, or null where there is none that can be repeated safely. */
export function givenRequestId({ headers }: Headers): string | null {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : null
}

/** The caller's own request id, where it may hold a card number: it is repeated, and never recorded. */
export function riskyRequestId(request: Headers): string | null {
  const given = givenRequestId(request)
  // A point and a low line stand between digits as well as a dash does.
  return given !== null && holdsPan(given.replaceAll(/[._]/g, '-')) ? given : null
}

/** What a request is recorded under at first: the caller's own id, or one made for it. */
export function requestIdOf(request: Headers): string {
  const given = givenRequestId(request)
  return given !== null && riskyRequestId(request) === null ? given : randomUUID()
}

/**
 * The trace that a request belongs to (W3C Trace Context, section 3.2), or null. One that may hold a card
 * number is none: a tracer draws one of a few hundred so, and whoever wants a number in the log every one.
 */
export function traceIdOf(headers: IncomingHttpHeaders): string | null {
  const given = headers.traceparent
  const [, traceId] =
    /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/.exec(String(given ?? '')) ?? []
  return traceId && !holdsPan(traceId) && !/^[0-9]+$/.test(traceId) ? traceId : null
}

type RawHeaders = Pick<IncomingMessage, 'headers' | 'rawHeaders'>

/** How often a header is there, by its name in lower case: of two, Node.js hands on one alone. */
const timesGiven = ({ rawHeaders }: RawHeaders, name: string): number =>
  rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length

/**
 * Refuses a request of HTTP/1.1 that does not name its host, or names two: a proxy may have judged the other
 * (RFC 9112 section 3.2).
 * @throws `Problem` `malformed_request`
 */
export function refuseUnclearHost(
  request: RawHeaders & Pick<IncomingMessage, 'httpVersion'>,
): void {
  if (request.httpVersion !== '1.1' || timesGiven(request, 'host') === 1) return
  throw new Problem('malformed_request', { detail: 'Host must be given once.' })
}

/**
 * The `Authorization` header. Of two, Node.js hands on the first and a proxy may have judged the second.
 * @throws `Problem` `malformed_request` when it is given more than once.
 */
export function authorizationOf(request: RawHeaders): string | undefined {
  if (timesGiven(request, 'authorization') > 1) {
    throw new Problem('malformed_request', { detail: 'Authorization must be given once.' })
  }
  return request.headers.authorization
}

/** @throws `Problem` `malformed_request` when another version of the contract is asked for. */
export function refuseOtherVersion(headers: IncomingHttpHeaders): void {
  const asked = headers['api-version']
  if (asked === undefined || asked === apiVersion) return
  throw new Problem('malformed_request', { detail: `Api-Version must be ${apiVersion}.` })
}

/**
 * The idempotency key, in either spelling, or null.
 * @throws `Problem` `malformed_request` unless it is 1 to 255 visible ASCII characters, given once.
 */
export function idempotencyKeyOf(headers: IncomingHttpHeaders): string | null {
  const spelled = [headers['idempotency-key'], headers.idempotencykey]
  const keys = [...new Set(spelled.filter((key) => key !== undefined))]
  if (keys.length === 0) return null
  const [key] = keys
  if (keys.length === 1 && typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) return key
  throw new Problem('malformed_request', {
    detail: 'Idempotency-Key must be 1 to 255 visible ASCII characters, given once.',
  })
}
