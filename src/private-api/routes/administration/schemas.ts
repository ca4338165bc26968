import Type from 'typebox'
import { cardTypes } from '../../../domain/product.ts'
import { stringPatterns } from '../../../http/string-patterns.ts'

export const closed = { additionalProperties: false } as const
export const admin = { access: 'admin' } as const
export const adminChange = { access: 'admin', bodyRequired: true, repeatable: true } as const

export const PageQuerySchema = Type.Object(
  {
    limit: Type.Optional(Type.String({ pattern: stringPatterns.pageLimit })),
    cursor: Type.Optional(Type.String({ pattern: stringPatterns.cursor, maxLength: 256 })),
  },
  closed,
)

// Types alone: the bounds are the rules of src/domain/product.ts, told together with what is found here.
const productMembers = {
  productName: Type.String(),
  schemeName: Type.String(),
  bin: Type.String({ description: 'The first 6 or 8 digits of its card numbers.' }),
  currencyCode: Type.String({ description: 'ISO 4217.' }),
  cardTypes: Type.Array(Type.String(), { maxItems: 8, description: cardTypes.join(', ') }),
  validityMonths: Type.Number(),
  pinLength: Type.Number(),
  pinRevealable: Type.Boolean(),
  refuseWeakPins: Type.Boolean(),
  pinTryLimit: Type.Number(),
  cvvTryLimit: Type.Number(),
  cvk: Type.String(),
  pvk: Type.String(),
  active: Type.Boolean(),
}

const { bin, cardTypes: types, currencyCode, productName, schemeName, ...rest } = productMembers

export const CreateProductSchema = Type.Object(
  {
    productId: Type.Number(),
    ...{ productName, schemeName, bin, currencyCode, cardTypes: types },
    ...Type.Partial(Type.Object(rest)).properties,
  },
  closed,
)

export const ChangeProductSchema = Type.Object(
  Type.Partial(Type.Object(productMembers)).properties,
  closed,
)

export const AdministeredProductSchema = Type.Object({
  productId: Type.Integer(),
  ...productMembers,
})

export const ActSchema = Type.Object({
  at: Type.String({ format: 'date-time' }),
  act: Type.String(),
  subjectKind: Type.String(),
  subject: Type.String(),
  details: Type.Unknown(),
  clientId: Type.String({ description: 'Whose token it was done with.' }),
  requestId: Type.String(),
})
