import Type, { type Static, type TSchema } from 'typebox'
import { decisionFormats, endpointModes, fallbackKinds } from '../../../domain/decision.ts'
import { closed } from '../../http/validation.ts'

/** The maximum characters of a rule. */
const ruleLengthMax = 4_000

const nullable = <Schema extends TSchema>(schema: Schema, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description })

const dateTime = Type.String({ format: 'date-time' })

/** Product ids in a query are texts. */
export const EndpointQuerySchema = Type.Object(
  {
    productId: Type.Optional(
      Type.String({
        format: 'product-id',
        description: 'The endpoint of this product; without it, the one for all products.',
        examples: ['1001'],
      }),
    ),
  },
  closed,
)

export const RemovalQuerySchema = Type.Object(
  {
    ...EndpointQuerySchema.properties,
    mode: Type.Optional(Type.Enum(['shadow'], { description: 'Ends the shadow version only.' })),
  },
  closed,
)

const fallbackKind = (description: string) => Type.Enum([...fallbackKinds], { description })
const onTimeout = fallbackKind('When no answer came in time. Default: `decline`.')
const onError = fallbackKind('When an answer cannot be used. Default: `decline`.')
const rule = nullable(
  Type.String({ minLength: 1, maxLength: ruleLengthMax, format: 'free-text' }),
  'A CEL expression over the request; true approves. Required by the kind `rule`.',
)

const url = nullable(
  Type.String({
    minLength: 1,
    maxLength: 1_000,
    format: 'plain-text',
    examples: ['https://client.example/decide'],
  }),
  'Where requests are sent. Outside the sandbox it must be https and public. Null: to the stream.',
)
const timeoutMs = Type.Integer({
  minimum: 100,
  maximum: 2_500,
  description: 'The time for an answer. Default: 1500.',
})
const maxInFlight = Type.Integer({
  minimum: 1,
  maximum: 1_000,
  description: 'How many requests may wait for an answer at once. Default: 100.',
})
const mode = Type.Enum([...endpointModes], {
  description: '`enforce`: the answer counts. `shadow`: it is recorded only. Default: `enforce`.',
})
const sample = Type.Integer({
  minimum: 1,
  maximum: 100,
  description: 'The share of authorizations that are asked about, in percent. Default: 100.',
})
const format = Type.Enum([...decisionFormats], {
  description: 'The form of requests and answers. Default: `pinfold`.',
})

export const PutDecisionEndpointSchema = Type.Object(
  {
    url: Type.Optional(url),
    timeoutMs: Type.Optional(timeoutMs),
    maxInFlight: Type.Optional(maxInFlight),
    fallback: Type.Optional(
      Type.Object(
        {
          onTimeout: Type.Optional(onTimeout),
          onError: Type.Optional(onError),
          rule: Type.Optional(rule),
        },
        { ...closed, description: 'What stands in for an answer.' },
      ),
    ),
    mode: Type.Optional(mode),
    sample: Type.Optional(sample),
    format: Type.Optional(format),
  },
  { ...closed, description: 'Absent members get their default.' },
)
export type PutDecisionEndpointBody = Static<typeof PutDecisionEndpointSchema>

export const EndpointVersionSchema = Type.Object({
  version: Type.Integer({ description: 'Counts from 1.' }),
  url,
  timeoutMs,
  maxInFlight,
  fallback: Type.Object({ onTimeout, onError, rule }),
  mode,
  sample,
  format,
  apiVersion: Type.String({
    description: 'The version of this interface at the registration. Requests keep its form.',
    examples: ['2026-11-20'],
  }),
  createdAt: dateTime,
})

const SigningKeysSchema = Type.Array(
  Type.Object({
    keyId: Type.String({ examples: ['dk_4kR0v1b2Q8xZ'] }),
    publicKey: Type.String({
      description: 'Ed25519, in the form of Standard Webhooks.',
      examples: ['whpk_kNRgSd0vC2vD8sjDt7X1fHkIm2p9X2m0GkvqL9hX3eQ='],
    }),
    createdAt: dateTime,
    signsUntil: nullable(dateTime, 'Null for the present key.'),
  }),
  { description: 'The keys that sign each request, the present one first.' },
)

const secret = Type.Optional(
  Type.String({
    description: 'The HMAC secret. Shown once, and never in a replayed answer.',
    examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
    'x-secret': true,
  }),
)

const version = nullable(EndpointVersionSchema)

const endpointMembers = {
  productId: nullable(Type.Integer(), 'Null: for all products without an endpoint of their own.'),
  draft: version,
  enforced: version,
  previous: version,
  shadow: version,
  degradedSince: nullable(
    dateTime,
    'Since when too few requests are answered, so that the fallback decides at once.',
  ),
  changedAt: dateTime,
  signingKeys: SigningKeysSchema,
}

export const DecisionEndpointSchema = Type.Object(endpointMembers)
export const RegisteredDecisionEndpointSchema = Type.Object({ ...endpointMembers, secret })
export const RotatedDecisionKeysSchema = Type.Object({ signingKeys: SigningKeysSchema, secret })
