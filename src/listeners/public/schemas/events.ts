import Type, { type Static, type TProperties } from 'typebox'
import { plasticReasons } from '../../../domain/card-life.ts'
import { cardStatusCodes } from '../../../domain/card-status.ts'
import { chipCommands } from '../../../domain/chip-command.ts'
import { askErrors, deciders, verdicts } from '../../../domain/decision.ts'
import { reportedStatuses } from '../../../domain/delivery.ts'
import { type EventType, eventTypes } from '../../../domain/event-type.ts'
import { laterMessages } from '../../../domain/payment.ts'
import { cardTypes } from '../../../domain/product.ts'
import { replacementReasons } from '../../../domain/replacement.ts'
import { checkMembers, declineMembers, paymentIdMember } from '../../http/authorization-members.ts'
import { pageMembers } from '../../http/pages.ts'
import { effectMember, paymentSums } from '../../http/payment-members.ts'
import { recordedTransactionMembers } from '../../http/transaction-members.ts'
import { closed, stringPatterns } from '../../http/validation.ts'

const remainingTries = Type.Integer({ minimum: 0, examples: [2] })
const attemptFailed = {
  remainingTries,
  entryMode: Type.String({ examples: ['chip'] }),
  reference: Type.String({ examples: ['512345678901'] }),
}
const blocked = {
  blockedBy: Type.Enum(['tries', 'client'], {
    description: 'Whether the tries are used up, or the client blocked it.',
  }),
}
const sha256 = (of: string) =>
  Type.Optional(Type.String({ description: `SHA-256 of the bytes of ${of}, in hexadecimal.` }))

/** Of an authorization that the card's client, or what stood in for it, decided. */
const decisionMembers = {
  decisionId: Type.Optional(
    Type.String({
      format: 'uuid',
      description: 'Where the card’s client was asked, also if a fallback decided.',
    }),
  ),
  decidedBy: Type.Optional(
    Type.Enum([...deciders], { description: 'Who decided, with `decisionId`.' }),
  ),
  decision: Type.Optional(
    Type.Object(
      {
        productId: Type.Optional(
          Type.Integer({ description: 'Left out for the endpoint of all products.' }),
        ),
        endpointVersion: Type.Integer({ minimum: 1, examples: [3] }),
        durationMs: Type.Integer({ description: 'How long the client was asked.' }),
        statusCode: Type.Optional(Type.Integer({ description: 'Of the answer by HTTP.' })),
        error: Type.Optional(
          Type.Enum([...askErrors], { description: 'Why there was no usable answer.' }),
        ),
        requestHash: sha256('the request'),
        answerHash: sha256('the answer'),
      },
      { description: 'How the client was asked, with `decisionId`.' },
    ),
  ),
}
const authorization = {
  authorizationId: Type.String({ format: 'uuid' }),
  responseCode: Type.String({ description: 'ISO 8583, field 39.', examples: ['55'] }),
  entryMode: Type.String({ examples: ['chip'] }),
  reference: Type.String({ examples: ['512345678901'] }),
  ...recordedTransactionMembers,
  checks: Type.Array(Type.Object({ check: checkMembers.check, result: checkMembers.result }), {
    description: 'In the order in which they ran. The last one decided, unless all passed.',
  }),
  tryNumber: Type.Optional(
    Type.Integer({
      description:
        'Of the try that the last check of a PIN or CVV2 spent. Counts those of its kind from 1.',
    }),
  ),
  ...decisionMembers,
}
const paymentChange = {
  paymentId: Type.String({ format: 'uuid' }),
  messageId: Type.String({ format: 'uuid' }),
  message: Type.Enum([...laterMessages]),
  effect: effectMember,
  amount: Type.Integer({ description: 'What the message changed.', examples: [1234] }),
  ...paymentSums,
  currentCard: Type.Optional(
    Type.String({
      description: 'The card that took the place of the card of the payment.',
      examples: ['7350264818'],
    }),
  ),
}
const chipCommand = {
  commandNumber: Type.Integer({
    description: 'The `sequence` of the event that reports the queueing.',
    examples: [7],
  }),
  command: Type.Enum([...chipCommands], { examples: ['unblock_pin'] }),
}
const revealed = {
  clientId: Type.String({
    description: 'The client that received the data.',
    examples: ['demo-client'],
  }),
  requestId: Type.String({
    description: 'The request of the disclosure.',
    examples: ['3f0c1d52-8f0e-4d5a-9a53-0c6a1a3b7c11'],
  }),
}
/** Of an edition of a card. */
const plasticNumber = Type.Integer({
  description:
    'Counts the editions of the card from 0. The PAN sequence number of the chip is this number ' +
    'plus firstPanSequenceNumber of the product.',
  minimum: 0,
  maximum: 99,
  examples: [1],
})
const plastic = {
  plasticNumber,
  reason: Type.Enum([...plasticReasons], { examples: ['Renewal'] }),
  expiryDate: Type.String({
    format: 'date',
    description: 'Of the plastic.',
    examples: ['2029-11-30'],
  }),
}
const replacedBy = Type.String({ description: 'The successor.', examples: ['7350264818'] })
const cardStatusCode = (example: string) => Type.Enum([...cardStatusCodes], { examples: [example] })

const timestamp = Type.String({
  format: 'date-time',
  description: 'The time of the act.',
  examples: ['2026-11-20T08:00:00.000Z'],
})

const cardMembers = {
  publicToken: Type.String({ examples: ['4820117360'] }),
  sequence: Type.Integer({
    minimum: 1,
    description: 'Counts the events of this card from 1, without gaps.',
    examples: [7],
  }),
}

/** The body of a message of one type. Later versions may add members. */
const messageSchema = <Name extends EventType, Details extends TProperties>(
  type: Name,
  details: Details,
) =>
  Type.Object({
    type: Type.Literal(type),
    timestamp,
    data: Type.Object({ ...cardMembers, ...details }),
  })

/**
 * A decision endpoint that changed its state. The event belongs to the card whose authorization
 * made it change.
 */
const endpointVersion = {
  productId: Type.Optional(
    Type.Integer({ description: 'Left out for the endpoint of all products.', examples: [1001] }),
  ),
  version: Type.Integer({ minimum: 1, examples: [3] }),
}

/** The body of each type of event. */
export const messageSchemas = {
  'card.created': messageSchema('card.created', {
    cardProduct: Type.Integer({ examples: [1001] }),
    cardType: Type.Enum([...cardTypes]),
    cardStatusCode: cardStatusCode('00'),
    replacementFor: Type.Optional(
      Type.String({ description: 'The card that it replaces.', examples: ['4820117360'] }),
    ),
  }),
  'card.status_changed': messageSchema('card.status_changed', {
    from: cardStatusCode('00'),
    to: cardStatusCode('62'),
  }),
  'card.controls_changed': messageSchema('card.controls_changed', {
    version: Type.Integer({ description: 'Of the new controls.', minimum: 1, examples: [3] }),
  }),
  'card.changed': messageSchema('card.changed', {
    members: Type.Array(Type.String({ examples: ['address'] }), {
      description: 'The names of the changed members, without their values.',
    }),
  }),
  'card.renewal_ordered': messageSchema('card.renewal_ordered', plastic),
  'card.renewed': messageSchema('card.renewed', {
    ...plastic,
    cardStatusCode: cardStatusCode('00'),
  }),
  'card.renewal_cancelled': messageSchema('card.renewal_cancelled', { plasticNumber }),
  'card.converted': messageSchema('card.converted', {
    ...plastic,
    cardStatusCode: cardStatusCode('00'),
  }),
  'card.replaced': messageSchema('card.replaced', {
    replacedBy,
    reason: Type.Enum([...replacementReasons]),
    pinMoved: Type.Boolean({ description: 'Whether the successor has the PIN of this card.' }),
  }),
  'card.activated': messageSchema('card.activated', {
    replacementFor: Type.Optional(
      Type.String({
        description: 'Of a successor: the card that it replaces.',
        examples: ['4820117360'],
      }),
    ),
    plasticNumber: Type.Optional(
      Type.Integer({ description: 'Of a converted card: its plastic.', examples: [1] }),
    ),
  }),
  'card.retired': messageSchema('card.retired', { replacedBy }),
  'card.renewal_due': messageSchema('card.renewal_due', {
    daysLeft: Type.Integer({
      description: 'The days until the last day of the card. Notices are given at 60 and 30 days.',
      minimum: 0,
      examples: [60],
    }),
  }),
  'card.delivery_changed': messageSchema('card.delivery_changed', {
    plasticNumber,
    deliveryStatus: Type.Enum([...reportedStatuses, 'Cancelled'], { examples: ['Shipped'] }),
  }),
  'card_data.revealed': messageSchema('card_data.revealed', {
    ...revealed,
    form: Type.Enum(['sessionKey', 'deviceKey']),
    includePin: Type.Boolean(),
    device: Type.Optional(
      Type.String({
        description: 'With `deviceKey`: the thumbprint of that key (RFC 7638, SHA-256).',
        examples: ['NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'],
      }),
    ),
  }),
  'pin.set': messageSchema('pin.set', {}),
  'pin.revealed': messageSchema('pin.revealed', revealed),
  'pin.attempt_failed': messageSchema('pin.attempt_failed', attemptFailed),
  'pin.blocked': messageSchema('pin.blocked', blocked),
  'pin.unblocked': messageSchema('pin.unblocked', {}),
  'cvv.attempt_failed': messageSchema('cvv.attempt_failed', attemptFailed),
  'cvv.blocked': messageSchema('cvv.blocked', blocked),
  'cvv.unblocked': messageSchema('cvv.unblocked', {}),
  'authorization.approved': messageSchema('authorization.approved', {
    ...authorization,
    ...paymentIdMember,
  }),
  'authorization.declined': messageSchema('authorization.declined', {
    ...authorization,
    ...declineMembers,
  }),
  'decision.late': messageSchema('decision.late', {
    decisionId: Type.String({ format: 'uuid' }),
    authorizationId: Type.String({ format: 'uuid' }),
    lateMs: Type.Integer({ description: 'Milliseconds after the deadline.', examples: [240] }),
    decision: Type.Enum([...verdicts], { description: 'What the answer said.' }),
    amount: Type.Optional(Type.Integer()),
    reason: Type.Optional(Type.String()),
  }),
  'decision_endpoint.degraded': messageSchema('decision_endpoint.degraded', {
    ...endpointVersion,
    unanswered: Type.Integer({ description: 'Of the last 50 requests.', examples: [20] }),
  }),
  'decision_endpoint.recovered': messageSchema('decision_endpoint.recovered', {
    ...endpointVersion,
    degradedSeconds: Type.Integer({ examples: [35] }),
  }),
  'payment.changed': messageSchema('payment.changed', paymentChange),
  'payment.forced': messageSchema('payment.forced', paymentChange),
  'payment.expired': messageSchema('payment.expired', paymentChange),
  'chip.command_queued': messageSchema('chip.command_queued', chipCommand),
  'chip.command_sent': messageSchema('chip.command_sent', chipCommand),
  'chip.command_done': messageSchema('chip.command_done', chipCommand),
  'chip.command_failed': messageSchema('chip.command_failed', chipCommand),
  'chip.command_unconfirmed': messageSchema('chip.command_unconfirmed', chipCommand),
} as const satisfies Record<EventType, object>

/** The body of a ping, which is not an event of a card. */
export const PingMessageSchema = Type.Object({
  type: Type.Literal('webhook.ping'),
  timestamp,
  data: Type.Object({ webhookId: Type.String({ format: 'uuid' }) }),
})

/** The body of a message. */
export type Message = {
  [Name in EventType]: Static<(typeof messageSchemas)[Name]>
}[EventType]

/** An event with the id of its deliveries. */
export const EventSchema = Type.Object({
  id: Type.String({
    format: 'uuid',
    description: 'The `webhook-id` of its deliveries.',
    examples: ['0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11'],
  }),
  type: Type.Enum([...eventTypes]),
  timestamp,
  data: Type.Object(cardMembers, {
    additionalProperties: true,
    description: 'And the members of this type of event, without PIN, PAN, CVV and personal data.',
  }),
})

export const ListEventsQuerySchema = Type.Object(
  {
    after: Type.Optional(
      Type.String({ format: 'id', description: 'The `id` of the last event that you have read.' }),
    ),
    types: Type.Optional(
      Type.String({
        maxLength: 500,
        pattern: stringPatterns.eventTypes,
        description: 'Types of events, separated by commas.',
        examples: ['pin.blocked,cvv.blocked'],
      }),
    ),
    limit: pageMembers.limit,
  },
  closed,
)
