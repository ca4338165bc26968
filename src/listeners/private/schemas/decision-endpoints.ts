import Type, { type TSchema } from 'typebox'
import {
  deciders,
  decisionFormats,
  endpointModes,
  fallbackKinds,
} from '../../../domain/decision.ts'

const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const dateTime = Type.String({ format: 'date-time' })
const decidedBy = Type.Enum([...deciders])
const productId = Type.Union([Type.Integer(), Type.Null()], {
  description: 'Null: for all products without an endpoint of their own.',
})

const WatchedVersionSchema = Type.Object({
  version: Type.Integer(),
  url: nullable(Type.String()),
  timeoutMs: Type.Integer(),
  maxInFlight: Type.Integer(),
  fallback: Type.Object({
    onTimeout: Type.Enum([...fallbackKinds]),
    onError: Type.Enum([...fallbackKinds]),
    rule: nullable(Type.String()),
  }),
  mode: Type.Enum([...endpointModes]),
  sample: Type.Integer(),
  format: Type.Enum([...decisionFormats]),
  apiVersion: Type.String(),
  createdAt: dateTime,
})

export const WatchedEndpointSchema = Type.Object({
  productId,
  draft: nullable(WatchedVersionSchema),
  enforced: nullable(WatchedVersionSchema),
  previous: nullable(WatchedVersionSchema),
  shadow: nullable(WatchedVersionSchema),
  degradedSince: nullable(dateTime),
  changedAt: dateTime,
})

export const WatchedEndpointsSchema = Type.Object({
  endpoints: Type.Array(WatchedEndpointSchema),
  lastHour: Type.Object(
    {
      decisions: Type.Integer(),
      p50Ms: nullable(Type.Number()),
      p99Ms: nullable(Type.Number()),
      decidedBy: Type.Array(Type.Object({ decidedBy, decisions: Type.Integer() })),
    },
    { description: 'Of the newest 10 000 decisions of the last hour at most.' },
  ),
  failures: Type.Array(
    Type.Object({
      decisionId: Type.String(),
      publicToken: Type.String(),
      authorizationId: Type.String(),
      decidedBy,
      error: nullable(Type.String()),
      statusCode: nullable(Type.Integer()),
      durationMs: nullable(Type.Integer()),
      askedAt: dateTime,
      productId,
      version: Type.Integer(),
    }),
    { description: 'The last 20 of the hour that no endpoint decided, newest first.' },
  ),
})

export const WatchedEndpointParamsSchema = Type.Object({ clientId: Type.String() })
