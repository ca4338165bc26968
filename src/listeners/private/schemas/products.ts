import Type from 'typebox'
import { integerMax } from '../../../domain/identifiers.ts'
import { PIN_LENGTH_MAX, PIN_LENGTH_MIN } from '../../../domain/pin.ts'
import { cardTypes } from '../../../domain/product.ts'
import { closed, stringPatterns } from '../../http/validation.ts'

// If src/domain/product.ts also finds a member faulty, its detail is used.
const wholeNumber = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum })
const productMembers = {
  productName: Type.String({ minLength: 1, maxLength: 50, format: 'free-text' }),
  schemeName: Type.String({ minLength: 1, maxLength: 30, format: 'free-text' }),
  bin: Type.String({ maxLength: 8, description: 'The first 6 or 8 digits of its card numbers.' }),
  currencyCode: Type.String({ pattern: stringPatterns.currencyCode, description: 'ISO 4217.' }),
  cardTypes: Type.Array(Type.Enum([...cardTypes]), { minItems: 1, maxItems: cardTypes.length }),
  validityMonths: wholeNumber(1, 240),
  pinLength: wholeNumber(PIN_LENGTH_MIN, PIN_LENGTH_MAX),
  pinRevealable: Type.Boolean(),
  refuseWeakPins: Type.Boolean(),
  pinTryLimit: wholeNumber(1, 15),
  cvvTryLimit: wholeNumber(1, 15),
  cvk: Type.String({ maxLength: 32 }),
  pvk: Type.String({ maxLength: 32 }),
  active: Type.Boolean(),
}

const { bin, cardTypes: types, currencyCode, productName, schemeName, ...rest } = productMembers

export const CreateProductSchema = Type.Object(
  {
    productId: wholeNumber(1, integerMax),
    productName,
    schemeName,
    bin,
    currencyCode,
    cardTypes: types,
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
  clientId: Type.String({ description: 'The client of the access token.' }),
  requestId: Type.String(),
})
