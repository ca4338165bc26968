import Type from 'typebox'

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
