import Type, { type TProperties } from 'typebox'
import { renewSteps } from '../../../domain/card-life.ts'
import { cardStatusCodes, cardStatuses } from '../../../domain/card-status.ts'
import { cardTypes } from '../../../domain/product.ts'
import { operatorReplacementReasons, replacementReasons } from '../../../domain/replacement.ts'
import { AddressSchema } from '../../http/postal-address.ts'
import { closed } from '../../http/validation.ts'
import { ReasonSchema } from './cards.ts'

const { reason } = ReasonSchema.properties
const date = Type.String({ format: 'date', examples: ['2030-11-30'] })

export const RenewAsOperatorSchema = Type.Object(
  {
    reason,
    renewStep: Type.Optional(
      Type.Enum([...renewSteps], {
        description:
          '`Renew`, the default, orders the next plastic with a later expiry, and ' +
          '`RenewWithSameExpiry` a copy of the present one. `Migrate` makes it current.',
      }),
    ),
  },
  closed,
)

export const ChangeDeliverySchema = Type.Object(
  {
    reason,
    fulfilment: Type.Union([AddressSchema, Type.Null()], {
      description: 'Where the plastic goes. Null: to the address of the cardholder.',
    }),
  },
  closed,
)

export const CancelRenewalAsOperatorSchema = Type.Object(
  {
    reason,
    notReceived: Type.Optional(
      Type.Boolean({
        description: 'Whether it was produced, and did not reach the cardholder. Default: false.',
      }),
    ),
  },
  closed,
)

export const ReplaceAsOperatorSchema = Type.Object(
  {
    reason,
    replacementReason: Type.Enum([...operatorReplacementReasons], {
      description:
        '`Lost` and `Stolen` move the card to 41 and 43, and `Compromised` retires it, in the ' +
        'same act. A `Damaged` card works until the new one is active.',
    }),
  },
  closed,
)

/** The new card, without the name of its holder. */
export const SuccessorOfAnyClientSchema = Type.Object({
  publicToken: Type.String({ examples: ['4820117361'] }),
  replacementFor: Type.String({
    description: 'The card that it replaces.',
    examples: ['4820117360'],
  }),
  pinMoved: Type.Boolean({ description: 'Whether it has the PIN of that card.' }),
  maskedPan: Type.String({ examples: ['400000******1234'] }),
  cardType: Type.Enum([...cardTypes]),
  startDate: date,
  expiryDate: date,
  status: Type.Enum(Object.values(cardStatuses).map(({ status }) => status)),
  cardStatusCode: Type.Enum([...cardStatusCodes]),
  cardStatusDescription: Type.String(),
})

const refused = Type.Object({
  possible: Type.Literal(false),
  code: Type.String({ description: 'The code of the problem that the act would answer.' }),
  detail: Type.Optional(Type.String()),
})

/** The effects that an act would have, or its refusal. */
const foreseen = <Effects extends TProperties>(effects: Effects, description: string) =>
  Type.Union([Type.Object({ possible: Type.Literal(true), ...effects }), refused], { description })

const plasticNumber = Type.Integer({ examples: [1] })
const orderedPlastic = {
  plasticNumber,
  expiryDate: date,
  current: Type.Boolean({ description: 'Whether it would be current at once.' }),
}

const ForeseenSuccessorSchema = Type.Object({
  replacementReason: Type.Enum([...replacementReasons]),
  cardStatusCode: Type.Enum([...cardStatusCodes], { description: 'Of the replaced card then.' }),
  retired: Type.Boolean({ description: 'Whether the replaced card would be retired at once.' }),
  pinMoved: Type.Boolean({ description: 'Whether the new card would have its PIN.' }),
  expiryDate: date,
  active: Type.Boolean({ description: 'Whether the new card would be active at once.' }),
})

export const PossibleActsSchema = Type.Object({
  recommended: Type.Union([Type.Enum(['renew', 'replace']), Type.Null()], {
    description: 'What the holder of the card needs; null for nothing.',
  }),
  deliveredTo: Type.Union([Type.Enum(['fulfilment', 'address']), Type.Null()], {
    description: 'The address on record that a plastic would go to; null for a virtual card.',
  }),
  activate: foreseen({}, 'Whether the card, or the plastic of a converted one, can be activated.'),
  renew: foreseen(orderedPlastic, 'An order of the next plastic, with a later expiry.'),
  reprint: foreseen(orderedPlastic, 'An order of a copy of the present plastic.'),
  migrate: foreseen({ plasticNumber }, 'The plastic that would be made current.'),
  cancelRenewal: foreseen(
    {
      plasticNumber,
      notReceived: Type.Boolean({
        description: 'Whether it was made, so that only its loss cancels it.',
      }),
    },
    'The plastic that would be cancelled.',
  ),
  convert: foreseen(
    { plasticNumber, expiryDate: date },
    'The plastic that a virtual card would get. It goes to the address of the cardholder.',
  ),
  replace: foreseen(
    { successors: Type.Array(ForeseenSuccessorSchema) },
    'What each reason that the status allows would do.',
  ),
})
