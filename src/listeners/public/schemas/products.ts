import Type from 'typebox'
import { cardTypes, renewalTypes } from '../../../domain/product.ts'
import { pageMembers } from '../../http/pages.ts'
import { closed, stringPatterns } from '../../http/validation.ts'

export const ListProductsQuerySchema = Type.Object(
  {
    cardType: Type.Optional(Type.String({ format: 'card-type' })),
    currencyCode: Type.Optional(
      Type.String({ pattern: stringPatterns.currencyCode, examples: ['EUR'] }),
    ),
    ...pageMembers,
  },
  closed,
)

/** A product in a client's list. */
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
  renewalType: Type.Enum([...renewalTypes], {
    description: 'Who orders the renewals of its cards: the client, or the service.',
  }),
  renewalEarliestDays: Type.Integer({
    description: 'A client can order a renewal at most this many days before the expiry.',
    examples: [90],
  }),
  renewalLeadDays: Type.Integer({
    description:
      'An automatic renewal of a physical card is ordered this many days before the expiry.',
    examples: [45],
  }),
  renewalGraceMonths: Type.Integer({
    description: 'An expired card can be renewed or replaced for this many months.',
    examples: [3],
  }),
  renewalNoticeDays: Type.Array(Type.Integer(), {
    description: 'The event `card.renewal_due` occurs this many days before the expiry.',
    examples: [[60, 30]],
  }),
})
