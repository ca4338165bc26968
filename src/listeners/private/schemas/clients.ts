import Type from 'typebox'
import { integerMax } from '../../../domain/identifiers.ts'
import { closed, optional, productId } from '../../http/validation.ts'
import { actReason } from './reasons.ts'

const clientName = Type.String({ minLength: 1, maxLength: 100, format: 'plain-text' })
const kinds = ['client', 'network', 'admin'] as const
const scopes = Type.Array(Type.String({ maxLength: 64 }), { maxItems: 32, uniqueItems: true })
// Open, because unknown members of a JWK are ignored (RFC 7517 section 4).
const jwks = Type.Object(
  {},
  {
    additionalProperties: true,
    maxProperties: 32,
    description: 'Its public key (JWK), or a set of public keys.',
  },
)
const productIds = Type.Array(productId({}), {
  maxItems: 1_000,
  uniqueItems: true,
})
const certificateBoundTokens = Type.Boolean({
  description: 'Whether its tokens are bound to its TLS certificate (RFC 8705).',
})
const clientId = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
  format: 'free-text',
})

export const CreateClientSchema = Type.Object(
  {
    clientId,
    clientName,
    kind: Type.Enum([...kinds]),
    scopes,
    jwks: Type.Optional(jwks),
    productIds: Type.Optional(productIds),
    certificateBoundTokens: Type.Optional(certificateBoundTokens),
    reason: actReason,
  },
  closed,
)

export const ChangeClientSchema = Type.Object(
  {
    clientName: Type.Optional(clientName),
    scopes: Type.Optional(scopes),
    jwks: Type.Optional(jwks),
    productIds: Type.Optional(productIds),
    active: Type.Optional(Type.Boolean()),
    certificateBoundTokens: Type.Optional(certificateBoundTokens),
    reason: actReason,
  },
  closed,
)

export const CreateZoneSchema = Type.Object(
  { clientId, clientName, jwks: Type.Optional(jwks), reason: actReason },
  closed,
)

export const ConfirmClientSchema = Type.Object(
  {
    credentialsVersion: Type.Integer({
      minimum: 1,
      maximum: integerMax,
      description: 'The version of the compared credentials.',
    }),
  },
  closed,
)

/** An optional body. */
export const RotateSecretSchema = Type.Object(
  {
    overlapHours: Type.Optional(Type.Integer({ minimum: 0, maximum: 168 })),
    secretHash: Type.Optional(
      Type.String({
        pattern: '^[0-9a-f]{64}$',
        description:
          'SHA-256, in hexadecimal, of a secret of 43 characters that you generated from 256 ' +
          'random bits. Required if another person approves this.',
      }),
    ),
    reason: actReason,
  },
  optional,
)

const JwkSetSchema = Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.String())) })

const clientMembers = {
  clientId: Type.String(),
  clientName: Type.String(),
  kind: Type.Enum([...kinds]),
  scopes: Type.Array(Type.String()),
  active: Type.Boolean(),
  authentication: Type.Enum(['client_secret', 'private_key_jwt', 'none'] as const),
  certificateBoundTokens,
  jwks: Type.Union([JwkSetSchema, Type.Null()]),
  previousSecretUntil: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  productIds: Type.Array(Type.Integer()),
  createdAt: Type.String({ format: 'date-time' }),
  createdBy: Type.Union([Type.String(), Type.Null()]),
  credentialsVersion: Type.Integer(),
  confirmedBy: Type.Array(Type.String()),
  controlledBy: Type.Array(Type.String(), {
    description: 'The other administrators who could act as it.',
  }),
  deliveriesSuspendedSince: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
}

const oneTimeSecret = Type.Optional(
  Type.String({ 'x-secret': true, description: 'Shown only in this answer.' }),
)

export const ClientSchema = Type.Object(clientMembers)
export const NamedClientSchema = Type.Object({
  ...clientMembers,
  actorNames: Type.Record(Type.String(), Type.String(), {
    description: 'The names of the people and clients in other members, by id, if they are known.',
  }),
})
export const CreatedClientSchema = Type.Object({ ...clientMembers, clientSecret: oneTimeSecret })

export const RotatedClientSecretSchema = Type.Object({
  clientId: Type.String(),
  clientSecret: oneTimeSecret,
  previousSecretUntil: clientMembers.previousSecretUntil,
})

export const ZoneSchema = Type.Object({
  clientId: Type.String(),
  clientName: Type.String(),
  active: Type.Boolean(),
  keys: Type.Array(
    Type.Object({
      key: Type.String(),
      algorithm: Type.String(),
      pinBlockFormats: Type.Array(Type.String()),
      keyCheckValue: Type.String(),
      createdAt: Type.String({ format: 'date-time' }),
      retiredAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    }),
  ),
})
