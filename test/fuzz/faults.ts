import { Compile } from 'typebox/compile'
import { problemKinds } from '../../src/domain/problem-kinds.ts'
import { listProblemCodes } from '../../src/listeners/http/openapi/document.ts'
import { authorizationServerPaths } from '../../src/listeners/oauth/authorization-server.ts'
import type { Route } from '../support/routes.ts'
import { canaryPan, canaryPin, isRefusedText, type SchemaNode } from './values.ts'

/**
 * What an answer must be, by the document of the route that it came from: that of its listener
 * where the route stands there, else its configuration.
 */

/** The route that a request was answered by. */
export type Matched = Pick<Route, 'listener' | 'method' | 'url'>

/** What is known of the routes of both listeners. */
export interface RouteBook {
  /** Every route that does more than refuse a method. */
  readonly routes: readonly Route[]
  /** The route, or undefined where it only refuses a method. */
  readonly routeOf: (matched: Matched) => Route | undefined
  /** The statuses that it may answer. */
  readonly statusesOf: (route: Route) => ReadonlySet<number>
  /** The methods that its path has, in order. */
  readonly methodsOf: (matched: Matched) => readonly string[]
}

interface Openapi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { responses: object }>>>>
}

export const bookOf = (
  routes: readonly Route[],
  documents: Readonly<Record<Route['listener'], Openapi>>,
): RouteBook => {
  const known = new Map(routes.map((route) => [keyOf(route), route]))
  return {
    routes,
    routeOf: (matched) => known.get(keyOf(matched)),
    statusesOf: (route) => {
      const path = documents[route.listener].paths[route.url.replaceAll(/:(\w+)/g, '{$1}')]
      const method = route.method === 'HEAD' ? 'get' : route.method.toLowerCase()
      const operation = path?.[method]
      return operation ? statusesIn(operation.responses) : configuredStatuses(route)
    },
    methodsOf: ({ listener, url }) => {
      const there = routes.filter(
        (route) => route.listener === listener && pathOf(route.url) === pathOf(url),
      )
      return [...new Set(there.map(({ method }) => method))].sort()
    },
  }
}

/** Whether a route speaks in the terms of another standard: the token endpoint, and pages. */
export const isForeign = ({ schema }: Route): boolean => schema.response === undefined

const keyOf = ({ listener, method, url }: Matched): string => `${listener} ${method} ${pathOf(url)}`

/** The index of a folder is one page, with the slash at its end and without. */
const pathOf = (url: string): string => url.replace(/(?<=.)\/$/, '')

const statusesIn = (responses: object): ReadonlySet<number> =>
  new Set(Object.keys(responses).map(Number))

const configuredStatuses = (route: Route): ReadonlySet<number> =>
  new Set([
    ...statusesIn(Object(route.schema.response)),
    ...listProblemCodes(route).map((code) => problemKinds[code].status),
  ])

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

export interface Sent {
  readonly method: string
  readonly url: string
  readonly body: string | null
}

/** All that is wrong with an answer. */
export function faultsOf(
  book: RouteBook,
  sent: Sent,
  matched: Matched | null,
  answer: Answered,
): string[] {
  const route = matched ? book.routeOf(matched) : undefined
  if (answer.status >= 500) return [`${answer.status}`]
  if (route && isForeign(route)) return []
  return [
    ...(route ? statusFaults(book, route, answer) : refusalFaults(book, matched, answer)),
    ...headerFaults(route, answer),
    ...(answer.status < 400
      ? successFaults(sent, route, answer)
      : matched?.url === authorizationServerPaths.token
        ? tokenErrorFaults(sent, answer)
        : isConsolePage(sent, route, answer)
          ? []
          : problemFaults(sent, answer)),
  ]
}

/** The console answers an address of its own that has no route with a page for people. */
const isConsolePage = ({ url }: Sent, route: Route | undefined, { headers }: Answered): boolean =>
  !route && url.startsWith('/console') && headers['content-type'] === 'text/html; charset=utf-8'

const statusFaults = (book: RouteBook, route: Route, { status }: Answered): string[] =>
  book.statusesOf(route).has(status) ? [] : [`${status} is not in its document`]

/** A path that is not there is 404, and a method that a path does not have 405. */
function refusalFaults(
  { methodsOf }: RouteBook,
  matched: Matched | null,
  { headers, status }: Answered,
): string[] {
  // Such a request is no request to any route yet: another host, or a URL that cannot be read.
  if (status === 421 || status === 400) return []
  if (!matched) return status === 404 ? [] : [`${status} where nothing is`]
  const allow = methodsOf(matched).join(', ')
  const isRight = status === 405 && headers.allow === allow
  return isRight ? [] : [`${status} with Allow ${headers.allow}, not 405 with ${allow}`]
}

/**
 * Nothing may be stored; a public document may, by whoever asks each time whether it is still the
 * same.
 */
const isNotStored = (headers: Answered['headers']): boolean =>
  headers['cache-control'] === 'no-store' ||
  (headers['cache-control'] === 'no-cache' && headers.etag !== undefined)

/** What is there is what it will always be. */
const isTile = (route: Route | undefined): boolean =>
  /^\/audit\/(?:logs\/:log\/)?tile\/\*$/.test(route?.url ?? '')

function headerFaults(route: Route | undefined, { headers, status }: Answered): string[] {
  const always = ['x-request-id', 'api-version']
  const mayBeStored = isTile(route) && status === 200
  return [
    ...(isNotStored(headers) || mayBeStored ? [] : ['may be stored']),
    ...always.filter((name) => !headers[name]).map((name) => `no ${name}`),
  ]
}

/** The token endpoint refuses in the terms of RFC 6749, section 5.2. */
function tokenErrorFaults({ method }: Sent, { headers, status, text }: Answered): string[] {
  if (method === 'HEAD') return text === '' ? [] : ['a body on HEAD']
  const isJson = String(headers['content-type']).startsWith('application/json')
  return isJson && typeof JSON.parse(text).error === 'string' ? [] : [`${status}: no token error`]
}

const problemMembers = ['type', 'title', 'status', 'code', 'detail', 'requestId', 'errors']

/** The members that one code alone has. */
const membersOfCode: Record<string, readonly string[]> = { card_already_replaced: ['replacedBy'] }

function problemFaults({ method }: Sent, { headers, status, text }: Answered): string[] {
  if (headers['content-type'] !== 'application/problem+json; charset=utf-8') {
    return [`${status} as ${headers['content-type']}`]
  }
  if (method === 'HEAD') return text === '' ? [] : ['a body on HEAD']
  const problem = JSON.parse(text)
  const kind = problemKinds[problem.code as keyof typeof problemKinds]
  const own = membersOfCode[problem.code] ?? []
  const known = [...problemMembers, ...own]
  const checks: readonly (readonly [boolean, string])[] = [
    [kind?.status === status && problem.status === status, 'another status than its code'],
    [kind?.title === problem.title, 'another title than its code'],
    [problem.type === `/problems/${problem.code}`, 'another type than its code'],
    [problem.requestId === headers['x-request-id'], 'another requestId than its header'],
    [Object.keys(problem).every((name) => known.includes(name)), 'unknown members'],
    [own.every((name) => name in problem), 'without the members of its code'],
    [problem.code !== 'validation_failed' || isErrorList(problem.errors), 'no list of errors'],
    [status !== 401 || /^Bearer/.test(String(headers['www-authenticate'])), 'no WWW-Authenticate'],
    [
      ![429, 503].includes(status) || /^[1-9]/.test(String(headers['retry-after'])),
      'no Retry-After',
    ],
    [!text.includes(canaryPan), 'a card number that was sent'],
    [!text.includes(canaryPin), 'a PIN that was sent'],
    [!/eyJ[\w-]{20}/.test(text), 'a token'],
  ]
  return checks.filter(([holds]) => !holds).map(([, fault]) => `${status}: ${fault}`)
}

const isErrorList = (errors: unknown): boolean =>
  Array.isArray(errors) &&
  errors.length > 0 &&
  errors.every(({ detail, pointer }) => typeof detail === 'string' && /^(\/.*)?$/.test(pointer))

const checkers = new Map<object, { Check: (value: unknown) => boolean }>()

function successFaults(sent: Sent, route: Route | undefined, answer: Answered): string[] {
  return [...acceptedFaults(sent, route), ...bodyFaults(sent, route, answer)]
}

/** What should have been refused. */
function acceptedFaults({ body, url }: Sent, route: Route | undefined): string[] {
  const { body: bodySchema, querystring } = (route?.schema ?? {}) as Record<string, SchemaNode>
  const [, query = ''] = url.split('?')
  const names = [...new URLSearchParams(query).keys()]
  const known = Object.keys(querystring?.properties ?? {})
  const faults: string[] = []
  if (names.some((name) => !known.includes(name))) faults.push('took an unknown parameter')
  if (new Set(names).size < names.length) faults.push('took a parameter twice')
  if (/%(?![0-9a-f]{2})|%ff|%00/i.test(query)) faults.push('took a malformed query')
  // A body means nothing with these methods.
  if (['GET', 'HEAD', 'DELETE', 'OPTIONS'].includes(route?.method ?? '')) return faults
  const value: unknown = body === null || body === '' ? undefined : JSON.parse(body)
  if (textsOf(value).some(isRefusedText)) faults.push('took a text with control characters')
  const isEmpty = value === undefined || Object.keys(Object(value)).length === 0
  if (!isEmpty && Object.keys(bodySchema?.properties ?? {}).length === 0) {
    faults.push('took a body that it does not know')
  }
  return faults
}

const textsOf = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : Object.entries(Object(value)).flatMap(([name, each]) => [name, ...textsOf(each)])

function bodyFaults({ method }: Sent, route: Route | undefined, answer: Answered): string[] {
  if (method === 'HEAD') return answer.text === '' ? [] : ['a body on HEAD']
  const schema = (route?.schema as { response?: Record<string, object> })?.response?.[answer.status]
  if (!schema || !/json/.test(String(answer.headers['content-type']))) return []
  const checker = checkers.get(schema) ?? Compile(schema as never)
  checkers.set(schema, checker)
  return checker.Check(JSON.parse(answer.text))
    ? []
    : [`${answer.status}: a body of another schema`]
}
