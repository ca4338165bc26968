import Type from 'typebox'
import { batchSizeMax, deliveryStatuses, reportedStatuses } from '../../../domain/delivery.ts'
import { cardTypes } from '../../../domain/product.ts'
import { pageMembers } from '../../http/pages.ts'
import { closed, optional } from '../../http/validation.ts'

const instant = Type.String({ format: 'date-time' })
const date = Type.String({ format: 'date', examples: ['2030-11-30'] })

export const TakeBatchSchema = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: batchSizeMax,
        description: 'The greatest number of plastics to take; by default 100.',
      }),
    ),
  },
  optional,
)

export const BatchSchema = Type.Object({
  batchId: Type.String({ format: 'uuid' }),
  takenAt: instant,
  acknowledgedAt: Type.Union([instant, Type.Null()], {
    description: 'When the bureau first confirmed that it has the whole batch.',
  }),
  plasticCount: Type.Integer({ examples: [100] }),
})

export const BatchesQuerySchema = Type.Object(
  {
    ...pageMembers,
    acknowledged: Type.Optional(
      Type.Enum(['false'], { description: '`false`: the batches that are not acknowledged.' }),
    ),
  },
  closed,
)

export const ReportDeliverySchema = Type.Object(
  { deliveryStatus: Type.Enum([...reportedStatuses], { examples: ['Shipped'] }) },
  closed,
)

const optionalText = Type.Optional(Type.String())

export const BatchPlasticSchema = Type.Object({
  publicToken: Type.String({ examples: ['4820117360'] }),
  plasticNumber: Type.Integer({
    description:
      'Counts the editions of the card from 0. The PAN sequence number of the chip is this ' +
      'number plus firstPanSequenceNumber of the product.',
    examples: [1],
  }),
  reason: Type.Enum(['Issue', 'Renewal', 'Reprint', 'Conversion']),
  productId: Type.Integer({ examples: [1001] }),
  cardType: Type.Enum([...cardTypes]),
  designId: Type.Optional(Type.String({ examples: ['blue'] })),
  maskedPan: Type.String({
    description: 'The number itself travels with the personalisation data, not here.',
    examples: ['400000******1234'],
  }),
  startDate: date,
  expiryDate: date,
  embossName: Type.Optional(
    Type.String({
      description:
        'Absent, as `cardHolder`, `address` and the texts, once the plastic is `Delivered`, ' +
        '`Returned` or `Cancelled`.',
      examples: ['ANA LIM'],
    }),
  ),
  cardHolder: Type.Optional(
    Type.Object({
      title: optionalText,
      firstName: Type.String(),
      middleName: optionalText,
      lastName: Type.String(),
    }),
  ),
  address: Type.Optional(
    Type.Object(
      {
        addressLine1: Type.String(),
        addressLine2: optionalText,
        addressLine3: optionalText,
        city: optionalText,
        state: optionalText,
        county: optionalText,
        postCode: Type.String(),
        country: Type.String({ examples: ['ESP'] }),
      },
      { description: 'Where it is sent: the fulfilment address of the card, or else its address.' },
    ),
  ),
  freetext1: Type.Optional(
    Type.String({ description: 'The text of the client for this plastic.' }),
  ),
  freetext2: optionalText,
  deliveryStatus: Type.Enum([...deliveryStatuses], {
    description:
      '`Cancelled`: its renewal was cancelled, or its card was closed or replaced, after the ' +
      'batch was taken. Do not make it.',
  }),
})
