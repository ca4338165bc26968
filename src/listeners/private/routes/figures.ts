import Type from 'typebox'
import { keysOrSupport, type PrivateApi, support } from '../api.ts'
import {
  ExpiringCardsSchema,
  KeyWearSchema,
  LatencyFiguresSchema,
  QueueFiguresSchema,
} from '../schemas/figures.ts'
import { computeLatency } from '../watching.ts'

const tags = ['Figures']

/**
 * Routes for charts: present figures, and those of the last 24 hours since the start of this
 * process.
 */
export function figureRoutes({ app, metrics, watching }: PrivateApi): void {
  app.get(
    '/figures/queues',
    {
      config: support,
      schema: {
        operationId: 'measureQueues',
        summary: 'Measure the queues',
        tags,
        response: { 200: QueueFiguresSchema },
      },
    },
    async () => ({
      now: await watching.backlog(),
      overTime: watching.samples().map(({ at, backlog }) => ({ at, ...backlog })),
    }),
  )
  app.get(
    '/figures/latency',
    {
      config: support,
      schema: {
        operationId: 'measureLatency',
        summary: 'Measure the latency of calls',
        description:
          'From the first byte of a request to the end of its answer, by the buckets of the ' +
          'histograms in `/metrics`.',
        tags,
        response: { 200: LatencyFiguresSchema },
      },
    },
    async () => ({
      routes: (await metrics.readTimes('all')).map(({ within, ...route }) => ({
        ...route,
        ...computeLatency(within),
      })),
      overTime: watching.samples().map(({ at, calls }) => ({ at, ...calls })),
    }),
  )
  app.get(
    '/figures/keys',
    {
      config: keysOrSupport,
      schema: {
        operationId: 'measureKeys',
        summary: 'Measure the age and uses of keys',
        description: 'For each key of the installation, the version that protects new data.',
        tags,
        response: { 200: Type.Array(KeyWearSchema) },
      },
    },
    async () =>
      (await watching.keys()).map(({ rotationDueAt, ...key }) => ({
        ...key,
        rotationDueAt: rotationDueAt.toISOString(),
      })),
  )
  app.get(
    '/figures/expiries',
    {
      config: keysOrSupport,
      schema: {
        operationId: 'countExpiries',
        summary: 'Count cards by the month of their expiry',
        description:
          'Of all clients, for the present month and the next eleven months. Cards that are ' +
          'closed or expired are not counted.',
        tags,
        response: { 200: Type.Array(ExpiringCardsSchema) },
      },
    },
    () => watching.expiries(),
  )
}
