import Type from 'typebox'
import { closed, stringPatterns } from '../../http/validation.ts'
import { keyName } from './keys.ts'
import { actReason } from './reasons.ts'

const orNull = Type.Union([Type.String(), Type.Null()])
const host = Type.String({
  minLength: 1,
  maxLength: 253,
  pattern: '^[A-Za-z0-9:.-]+$',
  format: 'free-text',
})
const port = Type.Integer({ minimum: 1, maximum: 65_535 })
const profile = Type.String({ maxLength: 32, format: 'free-text' })
const direction = Type.Enum(['listen', 'dial'] as const, {
  description: 'Whether the network connects to the address, or this service does.',
})

const optional = {
  tls: Type.Optional(
    Type.Boolean({ description: 'With the certificates of the private listener.' }),
  ),
  certificates: Type.Optional(
    Type.Array(Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', maxLength: 43 }), {
      maxItems: 10,
      uniqueItems: true,
      description:
        'SHA-256 of the certificates that the network may present, base64url (RFC 8705).',
    }),
  ),
  peers: Type.Optional(
    Type.Array(
      Type.String({
        minLength: 2,
        maxLength: 43,
        pattern: '^[0-9A-Fa-f:./]+$',
        format: 'free-text',
      }),
      {
        maxItems: 32,
        uniqueItems: true,
        description: 'Addresses that may connect without a certificate, in addition to loopback.',
      },
    ),
  ),
  zoneMasterKey: Type.Optional(
    Type.Union([keyName, Type.Null()], {
      description: 'The zone master key for key exchange on the link.',
    }),
  ),
}

export const CreateLinkSchema = Type.Object(
  {
    linkName: keyName,
    networkId: Type.String({ pattern: stringPatterns.clientId }),
    direction,
    host,
    port,
    profile,
    ...optional,
    reason: actReason,
  },
  closed,
)

export const ChangeLinkSchema = Type.Object(
  {
    direction: Type.Optional(direction),
    host: Type.Optional(host),
    port: Type.Optional(port),
    profile: Type.Optional(profile),
    ...optional,
    active: Type.Optional(Type.Boolean()),
    reason: actReason,
  },
  closed,
)

const states = ['disabled', 'down', 'failed', 'listening', 'connected', 'signed on'] as const

export const LinkSchema = Type.Object({
  linkName: Type.String(),
  networkId: Type.String(),
  direction: Type.Enum(['listen', 'dial'] as const),
  host: Type.String(),
  port: Type.Integer(),
  profile: Type.String(),
  tls: Type.Boolean(),
  certificates: Type.Array(Type.String()),
  peers: Type.Array(Type.String()),
  zoneMasterKey: orNull,
  active: Type.Boolean(),
  state: Type.Enum(states, {
    description:
      'The best that holds in any process. `listening`: the port waits for the network. ' +
      '`failed`: no process can listen or connect. `down`: no process serves the link, or it ' +
      'has not connected yet.',
  }),
  fault: Type.Union([Type.String(), Type.Null()], {
    description: 'Why a process cannot listen for the network, or connect to it.',
  }),
  connections: Type.Integer(),
  lastSignedOnAt: orNull,
  createdAt: Type.String({ format: 'date-time' }),
})

export const AdviceSchema = Type.Object({
  linkName: Type.String(),
  networkId: Type.String(),
  receivedAt: Type.String({ format: 'date-time' }),
  messageType: Type.String({ examples: ['0120'] }),
  publicToken: Type.Union([Type.String(), Type.Null()], {
    description: 'The card of the message; null if no card has its PAN.',
  }),
  reference: orNull,
  trace: orNull,
  transmittedAt: orNull,
  amount: orNull,
  currency: orNull,
  responseCode: Type.Union([Type.String(), Type.Null()], {
    description: "The network's answer on behalf of the issuer.",
  }),
  isMatched: Type.Boolean({ description: 'For a reversal: whether its original was found.' }),
})
