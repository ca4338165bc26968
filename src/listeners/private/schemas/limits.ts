import Type from 'typebox'
import { channels } from '../../../domain/controls.ts'
import { controlOwners } from '../../../domain/decide-controls.ts'
import { periods } from '../../../domain/spending.ts'

const LimitOriginSchema = Type.Enum(['default', 'variable', 'product'] as const, {
  description: 'The source of the value.',
})

export const EffectiveLimitSchema = Type.Object({
  name: Type.String({ examples: ['reveals-per-card'] }),
  value: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Null: the limit is off.',
  }),
  unit: Type.String({ examples: ['disclosures an hour'] }),
  origin: LimitOriginSchema,
  variable: Type.String({
    description: 'The variable of the value.',
  }),
})

export const UsedLimitSchema = Type.Object({
  name: Type.String({ examples: ['reveals-per-card'] }),
  allowed: Type.Union([Type.Integer(), Type.Null()], { description: 'Null: the limit is off.' }),
  used: Type.Integer(),
  left: Type.Union([Type.Integer(), Type.Null()]),
  windowSeconds: Type.Union([Type.Integer(), Type.Null()], {
    description:
      'The length of the sliding window in seconds. Null for tries, which an unblock restores, ' +
      'and for calls, which return steadily.',
  }),
  freeInSeconds: Type.Union([Type.Integer(), Type.Null()], {
    description:
      'Seconds until the next use. 0: a use is left. Null: an act has to restore the uses.',
  }),
  origin: LimitOriginSchema,
  from: Type.String({
    description: 'The variable, or the `productId`, of the value.',
    examples: ['REVEALS_PER_CARD_HOUR', '1001'],
  }),
})

const maximum = (description: string) =>
  Type.Union([Type.Integer(), Type.Null()], {
    description: `${description} Null is no limit, and 0 allows nothing.`,
  })

export const CardSpendingSchema = Type.Object({
  currency: Type.String({ description: 'Of all limits: ISO 4217.', examples: ['EUR'] }),
  timeZone: Type.String({
    description: 'Of the days of the limits.',
    examples: ['Europe/Madrid'],
  }),
  limits: Type.Array(
    Type.Object({
      control: Type.String({ examples: ['limits.day'] }),
      owner: Type.Enum([...controlOwners], { description: 'Whose limit it is.' }),
      period: Type.Enum([...periods], {
        description: '`transaction`: of each transaction alone. A week starts on Monday.',
      }),
      channel: Type.Union([Type.Enum([...channels]), Type.Null()], {
        description: 'Only transactions of this channel count; null: all do.',
      }),
      maximumAmount: maximum('In the smallest unit of `currency`.'),
      maximumCount: maximum('Of transactions.'),
      usedAmount: Type.Integer({
        description: 'In the present window. 0 for the period `transaction`.',
        examples: [12340],
      }),
      usedCount: Type.Integer({ examples: [3] }),
      resetsAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
        description: 'When the next window starts. Null for `transaction` and `lifetime`.',
      }),
    }),
    { description: 'Of the product, then of the card: both hold. Without shadow limits.' },
  ),
})
