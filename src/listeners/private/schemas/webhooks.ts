import Type from 'typebox'
import { pageMembers } from '../../http/pages.ts'
import { closed, stringPatterns } from '../../http/validation.ts'
import { ReasonSchema } from './cards.ts'

const dateTime = Type.String({ format: 'date-time' })
const dateTimeOrNull = Type.Union([dateTime, Type.Null()])
const { reason } = ReasonSchema.properties

export const WatchedWebhooksQuerySchema = Type.Object(
  {
    clientId: Type.Optional(Type.String({ pattern: stringPatterns.clientId })),
    ...pageMembers,
  },
  closed,
)

const LastDaySchema = Type.Object(
  {
    delivered: Type.Integer(),
    retrying: Type.Integer({ description: 'At least one attempt failed; another follows.' }),
    waiting: Type.Integer({ description: 'Not attempted yet.' }),
    failed: Type.Integer({ description: 'No attempt follows.' }),
    lastFailure: Type.Union(
      [
        Type.Object({
          deliveryId: Type.String(),
          type: Type.String(),
          at: dateTime,
          outcome: Type.String(),
          statusCode: Type.Optional(Type.Integer()),
        }),
        Type.Null(),
      ],
      { description: 'The newest delivery that is retried or failed, with its last attempt.' },
    ),
  },
  {
    description:
      'The deliveries of the last 24 hours by their result, among the newest 1,000 of the webhook.',
  },
)

export const WatchedWebhookSchema = Type.Object({
  clientId: Type.String(),
  clientName: Type.Union([Type.String(), Type.Null()], {
    description: 'Null if it is not known.',
  }),
  webhookId: Type.String({ format: 'uuid' }),
  url: Type.String(),
  events: Type.Array(Type.String()),
  status: Type.Enum(['Enabled', 'Disabled'] as const),
  consecutiveFailures: Type.Integer({ description: 'Since the last delivery.' }),
  failing: Type.Boolean({
    description: 'Whether it has failed for so long that it waits behind the others.',
  }),
  dueAt: Type.Union([dateTime, Type.Null()], {
    description: 'The time of the next delivery; null without one.',
  }),
  createdAt: dateTime,
  disabledAt: dateTimeOrNull,
  disabledReason: Type.Union(
    [Type.Enum(['receiver_gone', 'not_delivered', 'operator', 'client'] as const), Type.Null()],
    {
      description:
        'The receiver answered 410, three days of attempts failed, an operator or the client ' +
        'disabled it; null while it is enabled.',
    },
  ),
  lastDay: LastDaySchema,
})

export const WatchedDeliverySchema = Type.Object({
  deliveryId: Type.String(),
  eventId: Type.String({ description: 'The `webhook-id` of the message.' }),
  publicToken: Type.Optional(
    Type.String({ description: 'The card of the event; missing for a ping.' }),
  ),
  type: Type.String(),
  status: Type.Enum(['Pending', 'Delivered', 'Failed'] as const),
  createdAt: dateTime,
  nextTryAt: Type.Optional(dateTime),
  tries: Type.Array(
    Type.Object({
      at: dateTime,
      durationMs: Type.Integer(),
      outcome: Type.String(),
      statusCode: Type.Optional(Type.Integer()),
      response: Type.Optional(Type.String({ description: 'At most 256 bytes.' })),
    }),
    { description: 'The last 300 at most, oldest first.' },
  ),
})

export const WatchedWebhookParamsSchema = Type.Object({
  clientId: Type.String(),
  webhookId: Type.String(),
})
export const WatchedDeliveryParamsSchema = Type.Object({
  ...WatchedWebhookParamsSchema.properties,
  deliveryId: Type.String(),
})

export const ReplayAsOperatorSchema = Type.Object(
  {
    since: Type.String({
      format: 'instant',
      description: 'The instant from which events are delivered.',
    }),
    reason,
  },
  closed,
)

export const QueuedAgainSchema = Type.Object({ eventId: Type.String() })
export const ReplayingAgainSchema = Type.Object({ since: dateTime })
