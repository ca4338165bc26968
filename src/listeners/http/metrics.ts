import type { FastifyReply, FastifyRequest } from 'fastify'
import { AggregatorRegistry, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import { findPattern } from './paths.ts'

/** The metrics of the service (the Prometheus text format). */
export interface Metrics {
  /** @returns the text of `/metrics`. */
  read(): Promise<string>
  readonly contentType: string
  /** The registry for further metrics. */
  readonly registry: Registry
  /**
   * Returns the durations of requests since the start of each process: of this process, or of all.
   */
  readTimes(of: 'this' | 'all'): Promise<readonly TimedRoute[]>
  /**
   * Records an answered request. Routes are labelled by their pattern, so that no token is in a
   * label.
   */
  observe(listener: string, request: FastifyRequest, reply: FastifyReply): void
}

/** The durations of requests to one route. */
export interface TimedRoute {
  readonly listener: string
  readonly method: string
  readonly route: string
  /** The number of requests within a number of seconds (`Infinity`: any), ascending. */
  readonly within: readonly (readonly [seconds: number, requests: number])[]
}

/** The other processes that one answer covers. */
interface MetricsOfOthers {
  /** The value of this process's label `process`. */
  readonly process: string
  /** @returns the metrics of each registry as JSON. */
  read(): Promise<readonly (readonly object[])[]>
}

const durationName = 'pinfold_http_request_duration_seconds'
const bucketName = `${durationName}_bucket`

/**
 * Node's process metrics, which are collected once for all services in the process, because the
 * collection cannot be stopped.
 */
let ofProcess: Registry | undefined

/** @param others null if a scrape covers only this process, and no sample names one. */
export function createMetrics(others: MetricsOfOthers | null = null): Metrics {
  if (!ofProcess) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess, prefix: 'pinfold_' })
  }
  const registry = Registry.merge([ofProcess])
  if (others) registry.setDefaultLabels({ process: others.process })
  const requests = new Histogram({
    name: durationName,
    help: 'Time from the first byte of a request to the end of its answer.',
    labelNames: ['listener', 'method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  })
  return {
    async read() {
      if (!others) return registry.metrics()
      const processes = [await registry.getMetricsAsJSON(), ...(await others.read())]
      // Nothing is summed: each sample has the label of its process, so `first` keeps every one.
      return AggregatorRegistry.aggregate(
        processes.map((metrics) => metrics.map((metric) => ({ ...metric, aggregator: 'first' }))),
      ).metrics()
    },
    async readTimes(of) {
      const own: object = await requests.get()
      const elsewhere = of === 'all' && others ? (await others.read()).flat() : []
      return listRouteTimes([own, ...elsewhere] as readonly ReadMetric[])
    },
    contentType: registry.contentType,
    registry,
    observe(listener, request, reply) {
      const labels = {
        listener,
        method: request.method,
        route: findRoute(request),
        status: reply.statusCode,
      }
      requests.observe(labels, reply.elapsedTime / 1000)
    },
  }
}

/** A metric in the form of its registry. */
interface ReadMetric {
  readonly name: string
  readonly values: readonly {
    readonly metricName?: string
    readonly labels: Readonly<Record<string, string | number>>
    readonly value: number
  }[]
}

/** Lists the durations of each route, over all statuses and processes. */
function listRouteTimes(metrics: readonly ReadMetric[]): readonly TimedRoute[] {
  const routes = new Map<string, { readonly of: readonly string[]; readonly within: number[] }>()
  const bounds = new Map<number, number>()
  for (const { values } of metrics.filter(({ name }) => name === durationName)) {
    for (const { labels, metricName, value } of values) {
      if (metricName !== bucketName) continue
      const seconds = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le)
      const at = bounds.get(seconds) ?? bounds.size
      bounds.set(seconds, at)
      const of = [labels.listener, labels.method, labels.route].map(String)
      const known = routes.get(of.join(' ')) ?? { of, within: [] }
      known.within[at] = (known.within[at] ?? 0) + value
      routes.set(of.join(' '), known)
    }
  }
  const sorted = [...bounds].sort(([one], [other]) => one - other)
  return [...routes.values()].map(({ of: [listener = '', method = '', route = ''], within }) => ({
    listener,
    method,
    route,
    within: sorted.map(([seconds, at]) => [seconds, within[at] ?? 0] as const),
  }))
}

/** Returns the pattern of a request's route: `/cards/:publicToken`. */
export const findRoute = (request: FastifyRequest): string => findPattern(request) ?? 'none'
