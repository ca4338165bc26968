import Type, { type Static } from 'typebox'
import { eventTypes } from '../../../domain/event-type.ts'
import { closed } from '../../http/validation.ts'

const url = Type.String({
  minLength: 1,
  maxLength: 1_000,
  format: 'plain-text',
  description: 'The address of the messages. Outside the sandbox it must be https and public.',
  examples: ['https://client.example/pinfold'],
})

const events = Type.Union(
  [
    Type.Array(Type.Enum([...eventTypes]), { minItems: 1, maxItems: eventTypes.length }),
    Type.Array(Type.Enum(['*']), { minItems: 1, maxItems: 1 }),
  ],
  { description: 'Types of events, or `["*"]` for all of them.', examples: [['pin.blocked']] },
)

const status = Type.Enum(['Enabled', 'Disabled'], {
  description: '`Disabled` webhooks get no messages.',
})

const settings = {
  url,
  events,
  description: Type.Optional(Type.String({ minLength: 1, maxLength: 800, format: 'free-text' })),
}

export const CreateWebhookSchema = Type.Object(settings, closed)
export type CreateWebhookBody = Static<typeof CreateWebhookSchema>

export const UpdateWebhookSchema = Type.Object(
  { ...settings, status: Type.Optional(status) },
  { ...closed, description: 'Absent members get their default: `Enabled`, no description.' },
)
export type UpdateWebhookBody = Static<typeof UpdateWebhookSchema>

export const ReplaySchema = Type.Object(
  {
    since: Type.String({
      format: 'instant',
      description: 'The instant from which events are delivered.',
      examples: ['2026-11-20T08:00:00Z'],
    }),
  },
  closed,
)

/** A malformed id is answered like an unknown one. */
export const WebhookParamsSchema = Type.Object({
  webhookId: Type.String({ description: 'From the answer of its creation.' }),
})

export const DeliveryParamsSchema = Type.Object({
  webhookId: Type.String({ description: 'From the answer of its creation.' }),
  deliveryId: Type.String({ description: 'From the list of deliveries.' }),
})

const webhookId = Type.String({ examples: ['5f0c1d52-8f0e-4d5a-9a53-0c6a1a3b7c11'] })
const eventId = Type.String({ description: 'The `webhook-id` of the message.' })
const dateTime = Type.String({ format: 'date-time' })

const webhookMembers = {
  webhookId,
  url: Type.String(),
  events: Type.Array(Type.Unsafe<string>(Type.Enum([...eventTypes, '*']))),
  description: Type.Optional(Type.String()),
  status,
  createdAt: dateTime,
  disabledAt: Type.Optional(dateTime),
  disabledReason: Type.Optional(
    Type.Enum(['receiver_gone', 'not_delivered', 'operator', 'client'], {
      description:
        'Why it is disabled: its receiver answered 410, three days of attempts failed, an ' +
        'operator disabled it, or you did.',
    }),
  ),
}

const secret = Type.Optional(
  Type.String({
    description: 'Signs every message. Shown once, and never in a replayed answer.',
    examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
    'x-secret': true,
  }),
)

export const WebhookSchema = Type.Object(webhookMembers)

export const CreatedWebhookSchema = Type.Object({ ...webhookMembers, secret })

export const RotatedSecretSchema = Type.Object({ webhookId, secret })

export const QueuedSchema = Type.Object({ eventId })

export const ReplayingSchema = Type.Object({ since: dateTime })

export const DeliverySchema = Type.Object({
  deliveryId: Type.String({ examples: ['1042'] }),
  eventId,
  type: Type.Unsafe<string>(Type.Enum([...eventTypes, 'webhook.ping'])),
  status: Type.Enum(['Pending', 'Delivered', 'Failed']),
  createdAt: dateTime,
  nextTryAt: Type.Optional(
    Type.String({ format: 'date-time', description: 'While it is pending: the earliest time.' }),
  ),
  tries: Type.Array(
    Type.Object({
      at: dateTime,
      durationMs: Type.Integer(),
      outcome: Type.String({
        description: '`delivered`, or the reason.',
        examples: ['delivered', 'bad_status', 'timed_out', 'address_refused'],
      }),
      statusCode: Type.Optional(Type.Integer({ examples: [204] })),
      response: Type.Optional(
        Type.String({ description: 'At most 256 bytes of a text or JSON answer.' }),
      ),
    }),
    { description: 'The last 300 at most, oldest first.' },
  ),
})
