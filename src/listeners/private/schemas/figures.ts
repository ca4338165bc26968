import Type from 'typebox'

const msOrNull = Type.Union([Type.Number(), Type.Null()], {
  description: 'Milliseconds; null where there were no calls.',
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
      description: "Events that are not in their client's feed yet.",
    }),
    oldestUnpublishedSeconds: Type.Number(),
    pendingDeliveries: Type.Integer({ description: 'Due or not.' }),
    dueWebhooks: Type.Integer({
      description: 'Webhooks with due deliveries that no process sends, except failing webhooks.',
    }),
    oldestDueSeconds: Type.Number(),
    failingWebhooks: Type.Integer({ description: 'The same, of those that fail.' }),
    oldestFailingSeconds: Type.Number(),
  },
  { description: 'What has yet to go out. No more than 10 000 rows are counted.' },
)

export const QueueFiguresSchema = Type.Object({
  now: BacklogSchema,
  overTime: Type.Array(Type.Object({ at, ...BacklogSchema.properties }), {
    description: 'A sample a minute, of 24 hours at most, since this process began.',
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
    { description: 'Of all processes, each since it began.' },
  ),
  overTime: Type.Array(Type.Object({ at, ...latencyMembers }), {
    description: 'The calls of each minute, of 24 hours at most, of the process that answers.',
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
