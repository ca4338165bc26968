import Type, { type Static } from 'typebox'
import { renewSteps } from '../../../domain/card-life.ts'
import { cardStatusCodes, cardStatuses } from '../../../domain/card-status.ts'
import { chipUpdates } from '../../../domain/chip-command.ts'
import { cardTypes, renewalTypes } from '../../../domain/product.ts'
import { replacementReasons } from '../../../domain/replacement.ts'
import { entryModes } from '../../../operations/authorizations/authorization.ts'
import { pageMembers } from '../../http/pages.ts'
import { AddressSchema } from '../../http/postal-address.ts'
import { bodyLimit } from '../../http/problems.ts'
import { closed, optional, productId, stringPatterns } from '../../http/validation.ts'
import * as records from './card-records.ts'

const freeText = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, format: 'free-text' })
const personName = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, format: 'person-name' })

/** Marks a member that must never be logged, and a body that contains one. */
const secret = { 'x-secret': true } as const

const pinDigits = (description: string) =>
  Type.String({ pattern: stringPatterns.pin, description, examples: ['4821'], ...secret })

export const CardHolderSchema = Type.Object(
  {
    title: Type.Optional(personName(5)),
    firstName: personName(30),
    middleName: Type.Optional(personName(30)),
    lastName: Type.String({
      maxLength: 30,
      format: 'last-name',
      description: 'Empty for a person with one name, which is the `firstName`.',
    }),
    dateOfBirth: Type.String({ format: 'birth-date', examples: ['1990-04-17'] }),
    mobile: Type.Optional(
      Type.String({ maxLength: 16, pattern: stringPatterns.mobile, examples: ['+34600123456'] }),
    ),
    email: Type.Optional(
      Type.String({ maxLength: 100, format: 'free-text', pattern: stringPatterns.email }),
    ),
  },
  closed,
)

export const CreateCardSchema = Type.Object(
  {
    cardType: Type.String({
      format: 'card-type',
      description: '`Physical` or `Virtual`, in any case.',
      examples: ['Virtual'],
    }),
    cardProduct: productId({
      description: 'A `productId` from the list of products.',
      examples: [1001],
    }),
    cardHolder: CardHolderSchema,
    address: AddressSchema,
    fulfilment: Type.Optional(AddressSchema),
    nameOnCard: Type.Optional(
      Type.String({
        format: 'name-on-card',
        description:
          'Default: first and last name in Latin capitals. A first or last name without Latin ' +
          'letters, such as one in Chinese characters, is omitted; `embossName` of the answer ' +
          'shows the result. Required when neither name has Latin letters.',
        examples: ['ANA LIM'],
      }),
    ),
    customerReference: Type.Optional(freeText(25)),
    expiryDate: Type.Optional(Type.String({ format: 'year-month', examples: ['2029-06'] })),
    designId: Type.Optional(freeText(50)),
    metadata: Type.Optional(records.composeMetadataSchema(freeText(500), 'Your own texts.')),
    activateNow: Type.Optional(
      Type.Boolean({ description: 'Default: true for Virtual, false for Physical.' }),
    ),
  },
  closed,
)
export type CreateCardBody = Static<typeof CreateCardSchema>

const note = {
  description: Type.Optional(freeText(800)),
  updatedBy: Type.Optional(freeText(100)),
}

export const SetPinSchema = Type.Object(
  {
    pin: Type.Optional(pinDigits('The PIN that the cardholder chose.')),
    cardPin: Type.Optional(pinDigits('Another spelling of `pin`.')),
    encryptedPin: Type.Optional(
      Type.String({
        // The limit of the body: every fault, including the length, has the same answer.
        maxLength: bodyLimit,
        description:
          'The PIN sealed on the device: a compact JWE to the pin key (ECDH-ES, A256GCM, `typ` ' +
          '`set-pin+jwe`) of `pin`, `publicToken`, `jti` and `iat`. Valid for one use, within ' +
          '5 minutes.',
        ...secret,
      }),
    ),
    ...note,
  },
  { ...closed, description: 'Exactly one of `pin`, `cardPin` and `encryptedPin`.' },
)
export type SetPinBody = Static<typeof SetPinSchema>

export const UpdateCvvStatusSchema = Type.Object(
  {
    status: Type.Enum(['Unblocked', 'Blocked'], {
      description: '`Unblocked` restores the tries; `Blocked` blocks at once.',
    }),
    ...note,
  },
  closed,
)

/** An optional body. */
export const UnblockPinSchema = Type.Object(note, optional)

export const ChangeCardStatusSchema = Type.Object(
  { cardStatusCode: Type.Enum([...cardStatusCodes]), ...note },
  closed,
)

/** The client's texts for the bureau that produces a plastic. */
const freeTexts = {
  freetext1: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      format: 'free-text',
      description: 'For the bureau that produces the plastic.',
    }),
  ),
  freetext2: Type.Optional(freeText(100)),
}

const moved = (description: string) => Type.Optional(Type.Boolean({ description }))

export const ReplaceCardSchema = Type.Object(
  {
    reason: Type.Optional(
      Type.Enum([...replacementReasons], {
        description:
          'Default: `Lost` for 41, `Stolen` for 43, otherwise `Damaged`. `Lost` and `Stolen` ' +
          'move the card to 41 and 43, and `Compromised` retires it, in the same act.',
      }),
    ),
    cardProduct: Type.Optional(
      productId({ description: 'Default: the product of the card.', examples: [1001] }),
    ),
    expiryDate: Type.Optional(
      Type.String({
        format: 'year-month',
        description: "Default: the product's validity from today.",
        examples: ['2029-06'],
      }),
    ),
    moveExpiryDate: moved('Whether the new card has the expiry of the card.'),
    movePin: moved(
      'Whether the new card has the PIN of the card. Default: true if the PIN can move, but ' +
        'false for `Stolen` and `Compromised`.',
    ),
    moveBalance: moved('Accepted: Pinfold holds no balances.'),
    moveLimitAccumulators: moved('Accepted: the new card shares what the card has spent.'),
    moveChildCards: moved('Accepted: cards have no child cards.'),
    activateNow: moved('Default: true for Virtual, false for Physical.'),
    fulfilment: Type.Optional(AddressSchema),
    ...freeTexts,
  },
  optional,
)

/** An optional body. */
export const RenewCardSchema = Type.Object(
  {
    renewStep: Type.Optional(
      Type.Enum([...renewSteps], {
        description:
          '`Renew`, the default, orders the next plastic with a later expiry, and ' +
          '`RenewWithSameExpiry` a copy of the present one. `Migrate` makes it current.',
      }),
    ),
    expiryDate: Type.Optional(
      Type.String({
        format: 'year-month',
        description: "With `Renew`. Default: the product's validity after the present expiry.",
        examples: ['2033-06'],
      }),
    ),
    activateNow: Type.Optional(
      Type.Boolean({
        description: 'Not with `Migrate`: whether a physical plastic becomes current at once.',
      }),
    ),
    ...freeTexts,
  },
  optional,
)

export const CancelRenewalQuerySchema = Type.Object(
  {
    notReceived: Type.Optional(
      Type.Enum(['true', 'false'], {
        description:
          '`true`: the plastic was produced, and did not reach the cardholder. Its chip is ' +
          'declined.',
      }),
    ),
  },
  closed,
)

export const ConvertCardSchema = Type.Object(
  {
    cardType: Type.String({
      format: 'card-type',
      description: '`Physical`, in any case.',
      examples: ['Physical'],
    }),
    fulfilment: Type.Optional(AddressSchema),
    ...freeTexts,
  },
  closed,
)

export const ChangeCardSchema = Type.Object(
  {
    customerReference: Type.Optional(records.orNull(freeText(25), 'Null removes it.')),
    designId: Type.Optional(records.orNull(freeText(50), 'For the next plastic. Null removes it.')),
    cardHolder: Type.Optional(CardHolderSchema),
    nameOnCard: Type.Optional(
      Type.String({
        format: 'name-on-card',
        description: 'For the next plastic. Default: the name of a new `cardHolder`.',
        examples: ['ANA LIM'],
      }),
    ),
    address: Type.Optional(AddressSchema),
    fulfilment: Type.Optional(
      records.orNull(AddressSchema, 'Where the next plastic goes. Null: to `address`.'),
    ),
    renewalType: Type.Optional(
      records.orNull(Type.Enum([...renewalTypes]), 'Null: as the product says.'),
    ),
    metadata: Type.Optional(
      records.composeMetadataSchema(
        Type.Union([freeText(500), Type.Null()]),
        'A text sets a key, and null removes it. Other keys stay.',
      ),
    ),
  },
  { ...closed, minProperties: 1, description: 'The members to change, each whole.' },
)

export const ListCardsQuerySchema = Type.Object(
  {
    customerReference: Type.Optional(
      Type.String({ minLength: 1, maxLength: 25, format: 'plain-text' }),
    ),
    cardStatusCode: Type.Optional(Type.Enum([...cardStatusCodes])),
    ...records.kindFilters,
    ...pageMembers,
  },
  { ...closed, patternProperties: records.metadataFilter },
)

/** The token of a card. A malformed token is answered like an unknown one. */
export const CardParamsSchema = Type.Object({
  publicToken: Type.String({ description: 'From the answer of Create Card.' }),
})

const date = Type.String({ format: 'date', examples: ['2030-11-30'] })

export const TryStatusSchema = Type.Object({
  status: Type.Enum(['Unblocked', 'Blocked']),
  description: Type.String({ examples: ['The CVV can be used.'] }),
  remainingTries: Type.Integer({ examples: [3] }),
})

export const PinStatusSchema = Type.Object({
  ...TryStatusSchema.properties,
  chipUpdate: Type.Optional(
    Type.Enum([...chipUpdates], {
      description:
        'If the card has a chip: the newest command that changes or unblocks the PIN in it.',
    }),
  ),
  remainingOfflineTries: Type.Optional(
    Type.Integer({ description: 'Of the PIN in the chip, as the chip reported it last.' }),
  ),
  reportedAt: Type.Optional(
    Type.String({ format: 'date-time', description: 'When the chip reported it.' }),
  ),
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
  metadata: Type.Optional(records.MetadataSchema),
  ...cardStatusMembers,
}

/** Contains no PAN, PIN or CVV, so that no such answer can leak one. */
export const CreatedCardSchema = Type.Object(createdCardMembers)

export const SuccessorSchema = Type.Object({
  ...createdCardMembers,
  replacementFor: Type.String({
    description: 'The card that it replaces.',
    examples: ['4820117360'],
  }),
  pinMoved: Type.Boolean({ description: 'Whether it has the PIN of that card.' }),
})

export const CardSchema = Type.Object({
  ...createdCardMembers,
  pinStatus: TryStatusSchema,
  cvvStatus: TryStatusSchema,
  createdAt: Type.String({ format: 'date-time' }),
  ...records.recordMembers,
})

export const PinSchema = Type.Object({
  pin: Type.String({ examples: ['4821'], 'x-secret': true }),
})

export const AttemptSchema = Type.Object({
  at: Type.String({ format: 'date-time' }),
  kind: Type.Enum(['pin', 'cvv']),
  result: Type.Enum(['match', 'mismatch', 'unresolved']),
  remainingTries: Type.Integer(),
  entryMode: Type.Unsafe<string>(Type.Enum([...entryModes])),
  reference: Type.String({ examples: ['512345678901'] }),
})

/** An answer without a body. */
export const NoContentSchema = Type.Null({ description: 'No content.' })
