import Type from 'typebox'
import { integerMax } from '../../../domain/identifiers.ts'
import { closed } from '../../http/validation.ts'

const expiringBefore = Type.String({
  format: 'calendar-date',
  maxLength: 10,
  description: 'Cards whose last day is before this day.',
  examples: ['2026-12-31'],
})

export const RequestRenewalsSchema = Type.Object(
  {
    productId: Type.Integer({ minimum: 1, maximum: integerMax, examples: [1001] }),
    expiringBefore,
    dryRun: Type.Optional(
      Type.Boolean({ description: 'Counts what would be ordered, and orders nothing.' }),
    ),
  },
  closed,
)

export const RenewalJobSchema = Type.Object({
  jobId: Type.String({ format: 'uuid' }),
  productId: Type.Integer({ examples: [1001] }),
  expiringBefore,
  dryRun: Type.Boolean(),
  status: Type.Enum(['Running', 'Done']),
  due: Type.Integer({ description: 'How many cards it has found so far.', examples: [1200] }),
  ordered: Type.Integer({
    description: 'How many renewals it ordered; with `dryRun`, how many it would order.',
    examples: [1180],
  }),
  refused: Type.Record(Type.String(), Type.Integer(), {
    description: 'How many cards were refused, by the `code` that their renewal would answer.',
    examples: [{ renewal_not_due: 20 }],
  }),
  requestedAt: Type.String({ format: 'date-time' }),
  finishedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
})
