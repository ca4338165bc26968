import Type from 'typebox'

const LimitOriginSchema = Type.Enum(['default', 'variable', 'product'] as const, {
  description: 'Where the value comes from.',
})

export const EffectiveLimitSchema = Type.Object({
  name: Type.String({ examples: ['reveals-per-card'] }),
  value: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Null: there is no such limit, because limits are turned off.',
  }),
  unit: Type.String({ examples: ['disclosures an hour'] }),
  origin: LimitOriginSchema,
  variable: Type.String({
    description: 'The variable that it comes from, or by which it is changed.',
  }),
})

export const UsedLimitSchema = Type.Object({
  name: Type.String({ examples: ['reveals-per-card'] }),
  allowed: Type.Union([Type.Integer(), Type.Null()], { description: 'Null: it is turned off.' }),
  used: Type.Integer(),
  left: Type.Union([Type.Integer(), Type.Null()]),
  windowSeconds: Type.Union([Type.Integer(), Type.Null()], {
    description:
      'In any stretch of so many seconds. Null: of tries, until somebody unblocks them; of ' +
      'calls, they come back steadily.',
  }),
  freeInSeconds: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Until there is a use again: 0 where there is one, null where that takes an act.',
  }),
  origin: LimitOriginSchema,
  from: Type.String({
    description: 'The variable, or the `productId`, that it comes from.',
    examples: ['REVEALS_PER_CARD_HOUR', '1001'],
  }),
})
