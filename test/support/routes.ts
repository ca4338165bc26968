import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'

/** The routes of both listeners, as the real servers know them. */

export type Route = Required<Pick<RouteOptions, 'url' | 'config' | 'schema'>> & {
  method: string
  listener: 'public' | 'private'
}

/**
 * Opens a service and lists its routes.
 * @param onServer told of each server before it has any route
 */
export const openWithRoutes = async <Opened>(
  open: () => Promise<Opened>,
  onServer: (server: FastifyInstance) => void = () => undefined,
): Promise<{ service: Opened; routes: readonly Route[] }> => {
  const given: { method: string; route: RouteOptions; listener: Route['listener'] }[] = []
  let servers = 0
  // The framework tells of each server that it makes: the public one is made first.
  const listen = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    servers += 1
    const listener = servers === 1 ? 'public' : 'private'
    fastify.addHook('onRoute', (route) => {
      for (const method of [route.method].flat()) given.push({ method, route, listener })
    })
    onServer(fastify)
  }
  subscribe('fastify.initialization', listen)
  const service = await open()
  unsubscribe('fastify.initialization', listen)
  if (servers !== 2) throw new Error(`A service has two servers, not ${servers}.`)
  // Only now: a later hook may have added to the configuration of a route.
  const routes = given.map(({ listener, method, route }) => ({
    method,
    listener,
    url: route.url,
    config: route.config ?? {},
    schema: route.schema ?? {},
  }))
  return { service, routes }
}

/** A part of a JSON Schema, as far as a walk through its members needs it. */
interface SchemaPart {
  readonly properties?: Readonly<Record<string, SchemaPart>>
  readonly items?: SchemaPart
  readonly 'x-secret'?: boolean
}

/** The ways to every member of a schema that is no object: `['cardHolder', 'email']`. */
export function listLeaves(schema: unknown): { way: string[]; isSecret: boolean }[] {
  const part = schema as SchemaPart | undefined
  if (part?.properties) {
    return Object.entries(part.properties).flatMap(([name, member]) =>
      listLeaves(member).map(({ isSecret, way }) => ({ way: [name, ...way], isSecret })),
    )
  }
  if (part?.items) {
    return listLeaves(part.items).map(({ isSecret, way }) => ({ way: ['0', ...way], isSecret }))
  }
  return part ? [{ way: [], isSecret: part['x-secret'] === true }] : []
}
