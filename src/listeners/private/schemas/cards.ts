import Type from 'typebox'
import { cardStatusCodes, cardStatuses } from '../../../domain/card-status.ts'
import { cardTypes, renewalTypes } from '../../../domain/product.ts'
import { explainedDeclineMembers } from '../../http/authorization-members.ts'
import { paymentSums } from '../../http/payment-members.ts'
import { recordedTransactionMembers } from '../../http/transaction-members.ts'
import { closed, stringPatterns } from '../../http/validation.ts'
import { reasonText } from './reasons.ts'

const instant = Type.String({ format: 'date-time' })
const orNull = Type.Union([Type.String(), Type.Null()])
const date = Type.String({ format: 'date', examples: ['2030-11-30'] })

export const SearchCardsSchema = Type.Object(
  {
    publicToken: Type.Optional(Type.String({ maxLength: 32, format: 'plain-text' })),
    pan: Type.Optional(
      Type.String({
        pattern: stringPatterns.pan,
        description: 'Found by its keyed fingerprint. It is neither stored nor logged.',
        'x-secret': true,
      }),
    ),
    panLastFour: Type.Optional(Type.String({ pattern: stringPatterns.panLastFour })),
    customerReference: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 25,
        format: 'plain-text',
        description: "The client's own reference, complete, in any case.",
      }),
    ),
    authorizationReference: Type.Optional(
      Type.String({
        format: 'network-reference',
        description: "The network's reference of an authorization (ISO 8583, field 37).",
        examples: ['512345678901'],
      }),
    ),
    paymentId: Type.Optional(
      Type.String({
        format: 'id',
        description: 'The id of a payment, which is that of its authorization.',
      }),
    ),
    networkTransactionId: Type.Optional(
      Type.String({
        pattern: stringPatterns.networkTransactionId,
        description: "The network's own id of a transaction with payments.",
        examples: ['123456789012345'],
      }),
    ),
  },
  { ...closed, description: 'Exactly one member.' },
)

const foundMembers = {
  publicToken: Type.String({ examples: ['4820117360'] }),
  clientId: Type.String({ description: 'The client system of the card.' }),
  productId: Type.Integer({ examples: [1001] }),
  cardType: Type.Enum([...cardTypes]),
  customerReference: orNull,
  maskedPan: Type.String({ examples: ['400000******1234'] }),
  startDate: date,
  expiryDate: date,
  status: Type.Enum(Object.values(cardStatuses).map(({ status }) => status)),
  cardStatusCode: Type.Enum([...cardStatusCodes]),
  cardStatusDescription: Type.String(),
  createdAt: instant,
}

const authorizationMembers = {
  authorizationId: Type.String({ format: 'uuid' }),
  networkId: Type.String(),
  reference: Type.String({ examples: ['512345678901'] }),
  responseCode: Type.String({ examples: ['55'] }),
  ...explainedDeclineMembers,
  ...recordedTransactionMembers,
}

export const FoundCardSchema = Type.Object({
  ...foundMembers,
  clientName: Type.Union([Type.String(), Type.Null()], {
    description: "The client's name; null if it is not known.",
  }),
  authorization: Type.Optional(
    Type.Object(
      { ...authorizationMembers, at: instant },
      { description: 'The authorization with the reference.' },
    ),
  ),
  payment: Type.Optional(
    Type.Object(
      {
        paymentId: Type.String({ format: 'uuid' }),
        state: paymentSums.state,
        currency: paymentSums.currency,
        open: paymentSums.open,
        cleared: paymentSums.cleared,
        openedAt: instant,
        networkTransactionId: recordedTransactionMembers.networkTransactionId,
        merchant: recordedTransactionMembers.merchant,
      },
      { description: 'The payment with the id.' },
    ),
  ),
})

const ActorSchema = Type.Object(
  {
    kind: Type.Enum(['client', 'network', 'operator', 'service'] as const, {
      description: '`service`: an automatic act, without a request.',
    }),
    id: orNull,
    name: Type.Union([Type.String(), Type.Null()], {
      description: 'The name of the person or the client at present; null if it is not known.',
    }),
  },
  { description: 'Who acted.' },
)

const CardTryStatusSchema = Type.Object({
  status: Type.Enum(['Unblocked', 'Blocked'] as const),
  description: Type.String(),
  remainingTries: Type.Integer(),
})

export const SupportedCardSchema = Type.Object({
  ...foundMembers,
  clientName: Type.String(),
  productName: Type.String(),
  schemeName: Type.String(),
  designId: orNull,
  pinRevealable: Type.Boolean(),
  renewalType: Type.Enum([...renewalTypes], { description: "The card's own, or its product's." }),
  retired: Type.Boolean({
    description: 'Whether a successor took its place, or it was reported as compromised.',
  }),
  pinStatus: CardTryStatusSchema,
  cvvStatus: CardTryStatusSchema,
  statusReason: Type.Union(
    [Type.Object({ at: instant, by: ActorSchema, reason: orNull }), Type.Null()],
    { description: 'The event that set its status; null if it was deleted.' },
  ),
  limits: Type.Array(
    Type.Object({
      limitName: Type.String({ examples: ['unblock-pin'] }),
      used: Type.Integer(),
      allowed: Type.Union([Type.Integer(), Type.Null()]),
      windowSeconds: Type.Union([Type.Integer(), Type.Null()]),
      freeInSeconds: Type.Integer({
        description: 'Seconds until a use becomes free; 0: one is free.',
      }),
    }),
    { description: 'The used limits on this card.' },
  ),
})

const CardActSchema = Type.Object({
  entryId: Type.String({ description: 'The id of its entry in the audit log.' }),
  type: Type.String({ examples: ['card.status_changed'] }),
  sequence: Type.Union([Type.Integer(), Type.Null()], {
    description: "Its number among the card's events.",
  }),
  by: ActorSchema,
  requestId: orNull,
  details: Type.Unknown(),
  reason: Type.Union([Type.String(), Type.Null()], {
    description: 'The reason that an operator gave.',
  }),
  deliveries: Type.Array(
    Type.Object({
      webhookId: Type.String(),
      deliveryId: Type.String(),
      status: Type.Enum(['Pending', 'Delivered', 'Failed'] as const),
      tries: Type.Integer(),
      lastTry: Type.Union([
        Type.Object({
          at: Type.String(),
          outcome: Type.String(),
          statusCode: Type.Optional(Type.Integer()),
        }),
        Type.Null(),
      ]),
    }),
  ),
})

export const TimelineEntrySchema = Type.Object(
  {
    at: instant,
    kind: Type.Enum(['change', 'disclosure', 'attempt', 'authorization'] as const),
    act: Type.Optional(CardActSchema),
    attempt: Type.Optional(
      Type.Object({
        entryId: Type.String(),
        kind: Type.Enum(['pin', 'cvv'] as const),
        tryNumber: Type.Integer(),
        result: Type.Enum(['match', 'mismatch', 'unresolved'] as const),
        restored: Type.Boolean(),
        remainingTries: Type.Integer(),
        entryMode: Type.String(),
        reference: Type.String(),
      }),
    ),
    authorization: Type.Optional(
      Type.Object({
        ...authorizationMembers,
        approved: Type.Boolean(),
        entryMode: Type.String(),
      }),
    ),
  },
  {
    description:
      'A `change` and a `disclosure` have `act`, an `attempt` has `attempt`, an ' +
      '`authorization` has `authorization`.',
  },
)

const reason = reasonText(
  200,
  'The reason. It is stored enciphered beside the event; the client cannot read it.',
)

export const ReasonSchema = Type.Object({ reason }, closed)

export const UnblockCardsSchema = Type.Object(
  {
    publicTokens: Type.Array(Type.String({ pattern: stringPatterns.publicToken }), {
      minItems: 1,
      maxItems: 1_000,
      uniqueItems: true,
    }),
    kind: Type.Enum(['pin', 'cvv'] as const),
    reason,
  },
  closed,
)

export const UnblockedCardSchema = Type.Object({
  publicToken: Type.String(),
  unblocked: Type.Boolean(),
  code: Type.Optional(Type.String({ description: 'The code of the problem.' })),
  detail: Type.Optional(Type.String()),
})

export const CardholderSchema = Type.Object({
  embossName: Type.String(),
  title: orNull,
  firstName: Type.String(),
  middleName: orNull,
  lastName: Type.String(),
})

/** An answer without a body. */
export const NothingSchema = Type.Null({ description: 'No content.' })
