import Type from 'typebox'
import { checkNames, checkResults } from '../../../domain/authorization-check.ts'

const instant = Type.String({ format: 'date-time' })

const CheckSchema = Type.Object({
  check: Type.Enum([...checkNames], {
    description: '`answer`: of a repeat, whose first request was lost before it was answered.',
  }),
  result: Type.Enum([...checkResults], {
    description:
      '`not_given`: the request had nothing to check. `blocked`: no try was left, and ' +
      'nothing was compared. `unresolved`: the HSM gave no answer.',
  }),
  afterMs: Type.Integer({ description: 'From the arrival of the question.' }),
  responseCode: Type.Optional(Type.String({ description: 'What it declined with.' })),
  cardStatusCode: Type.Optional(Type.String({ description: 'The status that the card had.' })),
  remainingTries: Type.Optional(Type.Integer()),
  tryNumber: Type.Optional(Type.Integer({ description: 'Of the try that it spent.' })),
})

export const RecordedAuthorizationSchema = Type.Object({
  authorizationId: Type.String({ format: 'uuid' }),
  publicToken: Type.String({ examples: ['4820117360'] }),
  approved: Type.Boolean(),
  responseCode: Type.String({ examples: ['55'] }),
  askedAt: instant,
  at: Type.String({ format: 'date-time', description: 'When it was decided.' }),
  durationMs: Type.Integer({
    description: 'From the arrival of the question to its last check; the commit comes after.',
  }),
  networkId: Type.String(),
  requestId: Type.String(),
  reference: Type.String({ examples: ['512345678901'] }),
  entryMode: Type.String({ examples: ['chip'] }),
  checks: Type.Array(CheckSchema),
})

export const AuthorizationFiguresSchema = Type.Object({
  from: instant,
  approved: Type.Integer(),
  declined: Type.Integer(),
  declinedBy: Type.Record(Type.String(), Type.Integer(), {
    description: 'By response code (ISO 8583, field 39).',
  }),
})
