import type { FastifyInstance, FastifyRequest } from 'fastify'
import FindMyWay from 'find-my-way'
import { Problem } from '../../domain/problem.ts'

/** The methods of a server at a path. */
interface KnownPath {
  /** `/cards/:publicToken` */
  readonly pattern: string
  readonly methods: Set<string>
}

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The pattern of a path that does not support the request's method; null for a route and for an
     * unknown path.
     */
    refusedPattern: string | null
  }
}

/**
 * Collects the paths of all routes that are added afterwards, to tell an unsupported method from an
 * unknown path. They are in a router of their own: a refusing route for each method would be thirty
 * for each real one.
 * @param base the common prefix of most paths, such as `/thr/processor`
 * @returns a function that refuses an unrouted request: 405 with `Allow`, or 404.
 */
export const createPathRefuser = (
  app: FastifyInstance,
  maxParamLength: number,
  base: string | null,
): ((request: FastifyRequest) => Problem) => {
  const known = new Map<string, KnownPath>()
  const router = FindMyWay({ maxParamLength })
  app.decorateRequest('refusedPattern', null)
  app.addHook('onRoute', ({ method, url }) => {
    // The index of a folder is one page, with and without the slash at its end.
    const pattern = url.replace(/(?<=.)\/$/, '')
    const path = known.get(pattern) ?? { pattern, methods: new Set() }
    known.set(pattern, path)
    for (const each of [method].flat()) path.methods.add(each)
    if (!router.hasRoute('GET', url)) router.on('GET', url, () => undefined, path)
  })
  return (request) => {
    const path: KnownPath | undefined = router.find('GET', request.url)?.store
    if (!path) {
      const [requested = ''] = request.url.split('?')
      const similar = listSimilarPaths(requested, base)
        .map((one): KnownPath | undefined => router.find('GET', one)?.store)
        .find((one) => one !== undefined)
      return new Problem('not_found', { detail: describeMissing(similar, base) })
    }
    request.refusedPattern = path.pattern
    const allow = [...path.methods].sort()
    const detail = `This address supports ${allow.join(', ')}.`
    return new Problem('method_not_allowed', { allow, detail })
  }
}

/** Lists paths that the caller may have meant: with exact case and slashes, and under the base. */
function listSimilarPaths(requested: string, base: string | null): string[] {
  const exact = requested.toLowerCase().replace(/(?<=.)\/+$/, '')
  if (base === null) return [exact]
  return [exact, `${base}${exact}`, exact.replace(/^\/thr\/[^/]+/, base)]
}

/** Repeats no part of the request: its path may contain a card number. */
function describeMissing(similar: KnownPath | undefined, base: string | null): string {
  if (similar) {
    const path = similar.pattern.replaceAll(/:([A-Za-z]+)/g, '{$1}')
    return `The path is ${path}. Paths are exact: prefix, case and slashes have to match.`
  }
  const prefix =
    base === null
      ? ''
      : `Operations on cards begin with ${base}. The console, the audit log, and the paths of ` +
        'networks and administrators are on the private listener (PRIVATE_PORT). '
  return `This listener has no such path. ${prefix}GET /openapi.json lists its paths.`
}

/** Returns the pattern that a request's path matched, whether or not it accepts the method. */
export const findPattern = ({
  is404,
  refusedPattern,
  routeOptions,
}: FastifyRequest): string | undefined => (is404 ? (refusedPattern ?? undefined) : routeOptions.url)
