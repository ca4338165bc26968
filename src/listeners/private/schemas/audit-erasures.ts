import Type from 'typebox'
import { closed } from '../../http/validation.ts'
import { reasonText } from './reasons.ts'

export const RequestErasureSchema = Type.Object(
  {
    publicToken: Type.Optional(
      Type.String({
        pattern: '^[1-9][0-9]{9}$',
        description: 'A card: every entry about it, of every actor.',
        examples: ['4820117360'],
      }),
    ),
    clientId: Type.Optional(
      Type.String({
        pattern: '^[!-~]{1,64}$',
        format: 'free-text',
        description:
          'A client system: every entry about its acts. Not a network, an administrator, a ' +
          'person, or a client of the requester.',
        examples: ['client-1'],
      }),
    ),
    reason: reasonText(500, 'The reason. It stays in the log; give no personal data.'),
  },
  { ...closed, description: 'Exactly one of `publicToken` and `clientId`.' },
)

export const ErasureSchema = Type.Object({
  erasure: Type.String({ format: 'uuid' }),
  erased: Type.Integer({ description: 'The number of erased entries so far.' }),
  requestedAt: Type.String({ format: 'date-time' }),
  finishedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'Null until the erasure is complete.',
  }),
})
