import Type from 'typebox'
import { expiringCardsMost } from '../../../domain/card-life.ts'

const msOrNull = Type.Union([Type.Number(), Type.Null()], {
  description: 'Milliseconds; null without calls.',
})
const latencyMembers = {
  calls: Type.Integer(),
  p50Ms: msOrNull,
  p95Ms: msOrNull,
  p99Ms: msOrNull,
}
const at = Type.String({ format: 'date-time' })

export const BacklogSchema = Type.Object(
  {
    unpublishedEvents: Type.Integer({
      description: "Events that are not yet in their client's feed.",
    }),
    oldestUnpublishedSeconds: Type.Number(),
    pendingDeliveries: Type.Integer({ description: 'Due or not.' }),
    dueWebhooks: Type.Integer({
      description: 'Webhooks with due deliveries that no process sends, except failing webhooks.',
    }),
    oldestDueSeconds: Type.Number(),
    failingWebhooks: Type.Integer({ description: 'The same for failing webhooks.' }),
    oldestFailingSeconds: Type.Number(),
  },
  { description: 'The queues. At most 10 000 rows are counted.' },
)

export const QueueFiguresSchema = Type.Object({
  now: BacklogSchema,
  overTime: Type.Array(Type.Object({ at, ...BacklogSchema.properties }), {
    description: 'One sample per minute, for at most 24 hours since the start of this process.',
  }),
})

export const LatencyFiguresSchema = Type.Object({
  routes: Type.Array(
    Type.Object({
      listener: Type.String(),
      method: Type.String(),
      route: Type.String(),
      ...latencyMembers,
    }),
    { description: 'Of all processes, each since its start.' },
  ),
  overTime: Type.Array(Type.Object({ at, ...latencyMembers }), {
    description: 'The calls of each minute, for at most 24 hours, in the answering process.',
  }),
})

export const KeyWearSchema = Type.Object({
  key: Type.String(),
  version: Type.Integer(),
  ageSeconds: Type.Integer(),
  uses: Type.Integer(),
  rotationDueAt: Type.String({ format: 'date-time' }),
  rotationDue: Type.Union([Type.Enum(['age', 'uses'] as const), Type.Null()]),
})

export const ExpiringCardsSchema = Type.Object({
  month: Type.String({ description: '`YYYY-MM`.' }),
  cards: Type.Integer({
    minimum: 0,
    maximum: expiringCardsMost,
    description: `Counting stops at ${expiringCardsMost} cards.`,
  }),
})
