import type { FastifyReply, FastifyRequest } from 'fastify'
import { AggregatorRegistry, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import { patternOf } from './paths.ts'

/** What an operator can watch (the Prometheus text format). */
export interface Metrics {
  /** @returns the text of `/metrics`. */
  read(): Promise<string>
  readonly contentType: string
  /** Where others put theirs. */
  readonly registry: Registry
  /** Notes a request that was answered. Routes are named by their pattern, so that no token is in a label. */
  observe(listener: string, request: FastifyRequest, reply: FastifyReply): void
}

/** The other processes that one answer is given for. */
interface MetricsOfOthers {
  /** The value of this process's label `process`. */
  readonly process: string
  /** @returns what each registry gives as JSON. */
  read(): Promise<readonly (readonly object[])[]>
}

/** @param others null where a scrape is of this process alone, and no sample names one. */
export function createMetrics(others: MetricsOfOthers | null = null): Metrics {
  const registry = new Registry()
  if (others) registry.setDefaultLabels({ process: others.process })
  collectDefaultMetrics({ register: registry, prefix: 'pinfold_' })
  const requests = new Histogram({
    name: 'pinfold_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the end of its answer.',
    labelNames: ['listener', 'method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  })
  return {
    async read() {
      if (!others) return registry.metrics()
      const processes = [await registry.getMetricsAsJSON(), ...(await others.read())]
      // Nothing is summed up: each sample has the label of its process, so that every one is the first of its kind.
      return AggregatorRegistry.aggregate(
        processes.map((metrics) => metrics.map((metric) => ({ ...metric, aggregator: 'first' }))),
      ).metrics()
    },
    contentType: registry.contentType,
    registry,
    observe(listener, request, reply) {
      const labels = {
        listener,
        method: request.method,
        route: routeOf(request),
        status: reply.statusCode,
      }
      requests.observe(labels, reply.elapsedTime / 1000)
    },
  }
}

/** The pattern that a request's path matched: `/cards/:publicToken`. */
export const routeOf = (request: FastifyRequest): string => patternOf(request) ?? 'none'
