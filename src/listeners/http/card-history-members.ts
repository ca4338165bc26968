import Type from 'typebox'
import { plasticReasons, plasticStates } from '../../domain/card-life.ts'
import { cardStatusCodes, cardStatuses } from '../../domain/card-status.ts'
import { deliveryStatuses } from '../../domain/delivery.ts'
import { cardTypes } from '../../domain/product.ts'
import { replacementReasons } from '../../domain/replacement.ts'

const date = Type.String({ format: 'date', examples: ['2030-11-30'] })
const instant = (description: string) => Type.String({ format: 'date-time', description })

const PlasticSchema = Type.Object({
  plasticNumber: Type.Integer({ description: 'The PAN sequence number.', examples: [1] }),
  cardType: Type.Enum([...cardTypes]),
  reason: Type.Enum([...plasticReasons], { description: 'Why it was made.' }),
  state: Type.Enum([...plasticStates], {
    description: '`Waiting` until it becomes `Current`. The next one makes it `Retired`.',
  }),
  inactive: Type.Optional(
    Type.Boolean({
      description: 'True for the current plastic of a converted card until it is activated.',
    }),
  ),
  startDate: date,
  expiryDate: date,
  deliveryStatus: Type.Optional(
    Type.Enum([...deliveryStatuses], { description: 'Of a physical edition.' }),
  ),
  deliveryChangedAt: Type.Optional(instant('When its delivery status was reported.')),
  noticesGiven: Type.Integer({
    description:
      'The notices `card.renewal_due` that are over: 1 from 60 days before its expiry on, 2 from ' +
      '30. A notice that the card does not need is over without an event.',
    minimum: 0,
    maximum: 2,
    examples: [1],
  }),
  orderedAt: instant('When it was ordered.'),
  endedAt: Type.Optional(instant('When it was retired or cancelled.')),
})

/** A card of a line, with its plastics. */
export const CardOfHistorySchema = Type.Object({
  publicToken: Type.String({ examples: ['4820117360'] }),
  maskedPan: Type.String({ examples: ['400000******1234'] }),
  cardProduct: Type.Integer({ examples: [1001] }),
  createdAt: instant('When the card was created.'),
  replacementFor: Type.Optional(
    Type.String({ description: 'The card that it replaced.', examples: ['4820117361'] }),
  ),
  reason: Type.Optional(
    Type.Enum([...replacementReasons], { description: 'Why it replaced that card.' }),
  ),
  activatedAt: Type.Optional(instant('When it took the place of the cards before it.')),
  retired: Type.Boolean({
    description: 'Whether a successor took its place, or it was reported as compromised.',
  }),
  retiredAt: Type.Optional(instant('When it was retired.')),
  status: Type.Enum(Object.values(cardStatuses).map(({ status }) => status)),
  cardStatusCode: Type.Enum([...cardStatusCodes]),
  cardStatusDescription: Type.String(),
  plastics: Type.Array(PlasticSchema, { description: 'In the order of their numbers.' }),
})
