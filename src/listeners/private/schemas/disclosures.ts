import Type from 'typebox'
import { pageMembers } from '../../http/pages.ts'
import { closed, stringPatterns } from '../../http/validation.ts'

const orNull = Type.Union([Type.String(), Type.Null()])

export const DisclosuresQuerySchema = Type.Object(
  {
    publicToken: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{9}$' })),
    clientId: Type.Optional(
      Type.String({ pattern: stringPatterns.clientId, description: 'The recipient.' }),
    ),
    ...pageMembers,
  },
  { ...closed, description: 'At most one of `publicToken` and `clientId`.' },
)

export const DisclosureSchema = Type.Object({
  entry: Type.String({ format: 'uuid', description: 'Its entry in the audit log.' }),
  log: Type.Integer(),
  index: Type.Integer({ description: 'The position of the entry in the log.' }),
  act: Type.String({ examples: ['pin.revealed', 'card_data.revealed', 'cardholder.revealed'] }),
  at: Type.String({ format: 'date-time' }),
  outcome: Type.String({ examples: ['done', 'refused', 'failed', 'erased'] }),
  shownTo: Type.Union([Type.String(), Type.Null()], {
    description: 'The client system or the operator; null after the erasure of the entry.',
  }),
  shownToName: Type.Union([Type.String(), Type.Null()], {
    description: 'Its name at present; null if it is not known.',
  }),
  publicToken: orNull,
  requestId: orNull,
  device: Type.Union([Type.String(), Type.Null()], {
    description: "The thumbprint of the device's key (RFC 7638).",
  }),
  reason: orNull,
  count: Type.Integer({ description: 'Refused disclosures of one minute are counted together.' }),
  isSigned: Type.Boolean({
    description: 'Whether a checkpoint covers it, so that it has a receipt.',
  }),
  isErased: Type.Boolean(),
})
