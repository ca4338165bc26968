import Type from 'typebox'
import { renewSteps } from '../../../domain/card-life.ts'
import { cardStatusCodes, cardStatuses } from '../../../domain/card-status.ts'
import { cardTypes } from '../../../domain/product.ts'
import { operatorReplacementReasons } from '../../../domain/replacement.ts'
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
