import Type from 'typebox'
import { pageMembers } from '../../http/pages.ts'
import { closed, stringPatterns } from '../../http/validation.ts'

const orNull = Type.Union([Type.String(), Type.Null()])

export const DisclosuresQuerySchema = Type.Object(
  {
    publicToken: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{9}$' })),
    clientId: Type.Optional(
      Type.String({ pattern: stringPatterns.clientId, description: 'Who was shown it.' }),
    ),
    ...pageMembers,
  },
  { ...closed, description: 'One of `publicToken` and `clientId` at most.' },
)

export const DisclosureSchema = Type.Object({
  entry: Type.String({ format: 'uuid', description: 'Its entry of the audit log.' }),
  log: Type.Integer(),
  index: Type.Integer({ description: 'Where the entry stands in the log.' }),
  act: Type.String({ examples: ['pin.revealed', 'card_data.revealed', 'cardholder.revealed'] }),
  at: Type.String({ format: 'date-time' }),
  outcome: Type.String({ examples: ['done', 'refused', 'failed', 'erased'] }),
  shownTo: Type.Union([Type.String(), Type.Null()], {
    description: 'The client system or the operator; null where the entry is erased.',
  }),
  publicToken: orNull,
  requestId: orNull,
  device: Type.Union([Type.String(), Type.Null()], {
    description: 'The thumbprint of the key that it was sealed to (RFC 7638).',
  }),
  reason: orNull,
  count: Type.Integer({ description: 'Refused disclosures of one minute are counted together.' }),
  isSigned: Type.Boolean({ description: 'Whether it is under a checkpoint, and has a receipt.' }),
  isErased: Type.Boolean(),
})
