import Type, { type TSchema } from 'typebox'
import { chipProfileNames } from '../../../domain/chip-profile.ts'
import { integerMax } from '../../../domain/identifiers.ts'
import { PIN_LENGTH_MAX, PIN_LENGTH_MIN } from '../../../domain/pin.ts'
import { cardTypes, renewalBounds, renewalTypes } from '../../../domain/product.ts'
import { chipBounds, chipPolicies } from '../../../domain/product-chip.ts'
import { closed, stringPatterns } from '../../http/validation.ts'

// If src/domain/product.ts also finds a member faulty, its detail is used.
const wholeNumber = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum })
const policy = (description: string) => Type.Enum([...chipPolicies], { description })
const chipMembers = {
  profile: Type.Enum([...chipProfileNames], {
    description: 'How its chips make cryptograms.',
  }),
  keyVersions: Type.Unsafe<Record<string, number>>({
    type: 'object',
    propertyNames: { pattern: '^[0-9A-F]{2}$' },
    additionalProperties: wholeNumber(1, 65_535),
    // Of an index that is one byte.
    maxProperties: 256,
    description:
      'The version of the chip keys for each derivation key index, two hexadecimal digits. An ' +
      'index that is not listed stands for the version with the same number.',
  }),
  missingData: policy('A chip entry without chip data.'),
  fallback: policy('A magnetic stripe that is read at a terminal with a chip reader.'),
  disagreement: policy('Chip data that differ from the fields of the message.'),
  wrongCardValue: policy('A wrong CVV, iCVV, dCVV or CVC3 of track data, or a wrong CAVV.'),
  atcWindow: Type.Integer({
    ...chipBounds.atcWindow,
    description: 'How far below the highest transaction counter an unseen one is accepted.',
  }),
  atcJump: Type.Integer({
    ...chipBounds.atcJump,
    description: 'A transaction counter that is higher by more than this is recorded as a jump.',
  }),
  firstPanSequenceNumber: Type.Integer({
    ...chipBounds.firstPanSequenceNumber,
    description:
      'The PAN sequence number of the chip of a first plastic. That of each further plastic is ' +
      'one more; 00 follows 99.',
  }),
}
const { profile, ...chipSettings } = chipMembers
const chipDescription = 'The chips of its physical cards; null: its cards have none.'
const nullable = <Schema extends TSchema>(schema: Schema) =>
  Type.Union([schema, Type.Null()], { description: chipDescription })
const chipToCreate = nullable(
  Type.Object({ profile, ...Type.Partial(Type.Object(chipSettings)).properties }, closed),
)
const chipToChange = nullable(Type.Partial(Type.Object(chipMembers), closed))

const bounds = ({ maximum, minimum }: { readonly maximum: number; readonly minimum: number }) => ({
  minimum,
  maximum,
})

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
  renewalType: Type.Enum([...renewalTypes], {
    description: 'Who orders the renewals of its cards: the client, or the service.',
  }),
  renewalEarliestDays: Type.Integer({
    ...bounds(renewalBounds.earliestDays),
    description: 'A client can order a renewal at most this many days before the expiry.',
  }),
  renewalLeadDays: Type.Integer({
    ...bounds(renewalBounds.leadDays),
    description:
      'An automatic renewal of a physical card is ordered this many days before the expiry.',
  }),
  renewalGraceMonths: Type.Integer({
    ...bounds(renewalBounds.graceMonths),
    description: 'An expired card can be renewed or replaced for this many months.',
  }),
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
    chip: Type.Optional(chipToCreate),
  },
  closed,
)

export const ChangeProductSchema = Type.Object(
  {
    ...Type.Partial(Type.Object(productMembers)).properties,
    chip: Type.Optional(chipToChange),
  },
  closed,
)

export const AdministeredProductSchema = Type.Object({
  productId: Type.Integer(),
  ...productMembers,
  chip: nullable(Type.Object(chipMembers)),
})

export const ActSchema = Type.Object({
  at: Type.String({ format: 'date-time' }),
  act: Type.String(),
  subjectKind: Type.String(),
  subject: Type.String(),
  details: Type.Unknown(),
  clientId: Type.String({ description: 'The client of the access token, or the person.' }),
  clientName: Type.Union([Type.String(), Type.Null()], {
    description: 'Its name at present; null if it is not known.',
  }),
  requestId: Type.String(),
})
