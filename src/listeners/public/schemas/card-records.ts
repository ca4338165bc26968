import Type, { type Static, type TSchema } from 'typebox'
import { deliveryStatuses } from '../../../domain/delivery.ts'
import { renewalTypes } from '../../../domain/product.ts'

/** A member that null removes. */
export const orNull = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Union([schema, Type.Null()], { description })

const metadataRule =
  'Up to 50 keys of 1 to 40 letters, digits, dashes and underscores. Stored in clear: without ' +
  'personal data.'
export const composeMetadataSchema = <Schema extends TSchema>(value: Schema, description: string) =>
  Type.Unsafe<Record<string, Static<Schema>>>({
    type: 'object',
    additionalProperties: value,
    propertyNames: { format: 'metadata-key', maxLength: 40 },
    minProperties: 1,
    maxProperties: 50,
    description: `${description} ${metadataRule}`,
    examples: [{ costCentre: '4711' }],
  })

/** The metadata of a card in answers. */
export const MetadataSchema = Type.Record(Type.String(), Type.String(), {
  examples: [{ costCentre: '4711' }],
})

/** The members of a card's record that tell of its life. */
export const recordMembers = {
  replacementFor: Type.Optional(
    Type.String({ description: 'The `publicToken` of the card that this card replaces.' }),
  ),
  replacedBy: Type.Optional(
    Type.String({ description: 'The `publicToken` of the newest card that replaces this card.' }),
  ),
  retired: Type.Boolean({
    description: 'Whether a successor took its place, or it was reported as compromised.',
  }),
  renewalType: Type.Enum([...renewalTypes], { description: "The card's own, or its product's." }),
  renewal: Type.Optional(
    Type.Object(
      {
        plasticNumber: Type.Integer({ examples: [1] }),
        expiryDate: Type.String({ format: 'date', examples: ['2030-11-30'] }),
        deliveryStatus: Type.Optional(Type.Enum([...deliveryStatuses])),
      },
      { description: 'The plastic that is ordered and not current yet.' },
    ),
  ),
  metadata: MetadataSchema,
}

/** Filters of lists of cards, of which a list takes one. */
export const kindFilters = {
  expiringBefore: Type.Optional(
    Type.String({
      format: 'calendar-date',
      maxLength: 10,
      description:
        'Open cards whose last day is before this day. A plastic that waits has the last day.',
      examples: ['2030-12-01'],
    }),
  ),
  cardProduct: Type.Optional(Type.String({ format: 'product-id', examples: ['1001'] })),
  cardType: Type.Optional(Type.String({ format: 'card-type' })),
}

/** `metadata[costCentre]=4711`. Other spellings have a fault that shows this one. */
export const metadataFilter = {
  '^metadata(?!\\[[A-Za-z0-9_-]{1,40}\\]$)(\\[|$)': Type.String({ format: 'metadata-filter' }),
  '^metadata\\[[A-Za-z0-9_-]{1,40}\\]$': Type.String({
    minLength: 1,
    maxLength: 500,
    format: 'plain-text',
  }),
}
