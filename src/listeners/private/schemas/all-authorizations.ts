import Type from 'typebox'
import { declineReasons } from '../../../domain/decline-reason.ts'
import { responseCodes } from '../../../domain/response-code.ts'
import { pageMembers } from '../../http/pages.ts'
import { closed, stringPatterns } from '../../http/validation.ts'
import { RecordedAuthorizationSchema } from './card-authorizations.ts'

const clientId = Type.String({ pattern: stringPatterns.clientId })
const period = {
  from: Type.String({ format: 'instant' }),
  to: Type.String({ format: 'instant', description: 'The end, excluded.' }),
}

export const AuthorizationSearchSchema = Type.Object(
  {
    clientId: Type.Optional(clientId),
    outcome: Type.Optional(Type.Enum(['approved', 'declined'] as const)),
    responseCode: Type.Optional(
      Type.Enum([...responseCodes], { description: 'ISO 8583, field 39.' }),
    ),
    declineReason: Type.Optional(Type.Enum([...declineReasons])),
    from: Type.Optional(period.from),
    to: Type.Optional(period.to),
    ...pageMembers,
  },
  closed,
)

export const FoundAuthorizationSchema = Type.Object({
  clientId: Type.String({ description: 'Of the card.' }),
  ...RecordedAuthorizationSchema.properties,
})

export const AuthorizationFiguresQuerySchema = Type.Object(
  {
    ...period,
    bucket: Type.Enum(['minute', 'hour', 'sixHours', 'day'] as const),
    clientId: Type.Optional(clientId),
  },
  closed,
)

export const ClientFiguresQuerySchema = Type.Object(period, closed)

const counts = {
  approved: Type.Integer(),
  declined: Type.Integer(),
  declinedBy: Type.Record(Type.String(), Type.Integer(), {
    description: 'By response code (ISO 8583, field 39).',
  }),
}

export const AuthorizationFiguresSchema = Type.Object({
  from: Type.String({ format: 'date-time' }),
  ...counts,
  approvedAmounts: Type.Record(Type.String(), Type.Integer(), {
    description: 'What approvals held, by currency (ISO 4217), in its smallest unit.',
    examples: [{ EUR: 123400 }],
  }),
})

export const ClientAuthorizationFiguresSchema = Type.Object({
  clientId: Type.String(),
  ...counts,
})
