/** The routes of both listeners, as the framework tells of them when a service is made. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'

export type TableRoute = Pick<RouteOptions, 'url' | 'config' | 'schema'> & {
  method: string
  listener: 'public' | 'private'
}

const channel = 'fastify.initialization'

/** Makes a service, and tells its routes with it. */
export const withRoutes = async <Service>(
  open: () => Promise<Service>,
): Promise<{ service: Service; routes: readonly TableRoute[] }> => {
  const given: { method: string; route: RouteOptions; listener: 'public' | 'private' }[] = []
  const servers: object[] = []
  const watch = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    // The public one is made first.
    const listener = servers.push(fastify) === 1 ? 'public' : 'private'
    fastify.addHook('onRoute', (route) => {
      for (const method of [route.method].flat()) given.push({ method, route, listener })
    })
  }
  subscribe(channel, watch)
  const service = await open()
  unsubscribe(channel, watch)
  // Only now: a later hook may have added to the configuration of a route.
  const routes = given.map(({ listener, method, route }) => {
    const { config = {}, schema = {}, url } = route
    return { method, url, config, schema, listener }
  })
  return { service, routes }
}
