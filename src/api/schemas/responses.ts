import Type from 'typebox'
import { cardStatusCodes, cardStatuses } from '../../domain/card-status.ts'
import { cardTypes } from '../../domain/product.ts'

const date = Type.String({ format: 'date', examples: ['2030-11-30'] })

export const ProductSchema = Type.Object({
  productId: Type.Integer({ examples: [1001] }),
  productName: Type.String({ examples: ['Everyday Debit'] }),
  schemeName: Type.String({ examples: ['Visa'] }),
  currencyCode: Type.String({ examples: ['EUR'] }),
  cardTypes: Type.Array(Type.Enum([...cardTypes])),
  validityMonths: Type.Integer({ examples: [48] }),
  pinLength: Type.Integer({ examples: [4] }),
  pinRevealable: Type.Boolean(),
  pinTryLimit: Type.Integer({ examples: [3] }),
  cvvTryLimit: Type.Integer({ examples: [3] }),
})

export const TryStatusSchema = Type.Object({
  status: Type.Enum(['Unblocked', 'Blocked']),
  description: Type.String({ examples: ['The CVV can be used.'] }),
  remainingTries: Type.Integer({ examples: [3] }),
})

const cardStatusMembers = {
  status: Type.Enum(Object.values(cardStatuses).map(({ status }) => status)),
  cardStatusCode: Type.Enum([...cardStatusCodes]),
  cardStatusDescription: Type.String({ examples: ['Active'] }),
}

export const CardStatusSchema = Type.Object(cardStatusMembers)

const createdCardMembers = {
  publicToken: Type.String({ examples: ['4820117360'] }),
  customerReference: Type.Optional(Type.String({ examples: ['C-1'] })),
  cardType: Type.Enum([...cardTypes]),
  cardProduct: Type.Integer({ examples: [1001] }),
  embossName: Type.String({ examples: ['ANA LIM'] }),
  maskedPan: Type.String({ examples: ['400000******1234'] }),
  startDate: date,
  expiryDate: date,
  designId: Type.Optional(Type.String()),
  ...cardStatusMembers,
}

/** There is no PAN, PIN or CVV in it, so that no answer made by it can leak one. */
export const CreatedCardSchema = Type.Object(createdCardMembers)

export const CardSchema = Type.Object({
  ...createdCardMembers,
  pinStatus: TryStatusSchema,
  cvvStatus: TryStatusSchema,
  createdAt: Type.String({ format: 'date-time' }),
})

export const PinSchema = Type.Object({
  pin: Type.String({ examples: ['4821'], 'x-secret': true }),
})

export const AttemptSchema = Type.Object({
  at: Type.String({ format: 'date-time' }),
  kind: Type.Enum(['pin', 'cvv']),
  result: Type.Enum(['match', 'mismatch', 'unresolved']),
  remainingTries: Type.Integer(),
  entryMode: Type.String({ examples: ['chip'] }),
  reference: Type.String({ examples: ['512345678901'] }),
})

/** An answer without a body. */
export const NoContentSchema = Type.Null({ description: 'No content.' })

export const ProblemSchema = Type.Object(
  {
    type: Type.String({ examples: ['/problems/validation_failed'] }),
    title: Type.String(),
    status: Type.Integer(),
    code: Type.String({ examples: ['validation_failed'] }),
    detail: Type.Optional(Type.String()),
    requestId: Type.String(),
    errors: Type.Optional(
      Type.Array(Type.Object({ pointer: Type.String(), detail: Type.String() })),
    ),
  },
  { description: 'RFC 9457.' },
)
