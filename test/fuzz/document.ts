import { problemKinds } from '../../src/domain/problem.ts'
import { problemCodesOf } from '../../src/listeners/public/openapi/document.ts'
import type { Route } from '../support/routes.ts'

/** What each route is documented to answer: by openapi.json where it stands there, else by its configuration. */

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

export const bookOf = (routes: readonly Route[], openapi: Openapi): RouteBook => {
  const known = new Map(routes.map((route) => [keyOf(route), route]))
  return {
    routes,
    routeOf: (matched) => known.get(keyOf(matched)),
    statusesOf: (route) => {
      const path = openapi.paths[route.url.replaceAll(/:(\w+)/g, '{$1}')]
      const method = route.method === 'HEAD' ? 'get' : route.method.toLowerCase()
      const operation = route.listener === 'public' ? path?.[method] : undefined
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
    ...problemCodesOf(route).map((code) => problemKinds[code].status),
  ])
