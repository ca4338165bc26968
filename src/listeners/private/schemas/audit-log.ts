import Type from 'typebox'
import { pageMembers } from '../../http/pages.ts'
import { closed, stringPatterns } from '../../http/validation.ts'
import { reasonText } from './reasons.ts'

const nullableText = Type.Union([Type.String(), Type.Null()])

/** A log as operators see it. */
export const AuditLogSchema = Type.Object({
  log: Type.Integer({ description: 'Counts the logs of this database from 1.' }),
  origin: Type.String({ description: 'The origin in its checkpoints.' }),
  beganAt: Type.String(),
  closedAt: nullableText,
  reason: Type.Union([Type.String(), Type.Null()], {
    description: 'Why the preceding log could not continue.',
  }),
  size: Type.Integer({ description: 'Its entries.' }),
  signedSize: Type.Integer({ description: 'The entries that its newest checkpoint covers.' }),
  signedAt: nullableText,
  refusal: Type.Union([Type.String(), Type.Null()], {
    description: 'Why the log is not signed.',
  }),
})

export const SucceedAuditLogSchema = Type.Object(
  {
    reason: reasonText(
      500,
      'The reason. Give no personal data: the text is published to auditors.',
    ),
  },
  closed,
)

export const SuccessionSchema = Type.Object({
  log: Type.Integer(),
  origin: Type.String(),
  predecessorCheckpoint: nullableText,
})

const bound = (description: string) =>
  Type.Optional(Type.String({ format: 'instant', description }))

export const OperatorEntriesQuerySchema = Type.Object(
  {
    clientId: Type.Optional(
      Type.String({
        pattern: stringPatterns.clientId,
        description: 'The person or the administrator who acted.',
      }),
    ),
    act: Type.Optional(
      Type.String({
        maxLength: 100,
        pattern: stringPatterns.printable,
        description: 'Exactly this act.',
      }),
    ),
    publicToken: Type.Optional(Type.String({ pattern: stringPatterns.publicToken })),
    from: bound('Entered at this instant or later.'),
    to: bound('Entered before this instant.'),
    ...pageMembers,
  },
  { ...closed, description: '`publicToken` is not combined with `clientId` or `act`.' },
)

export const OperatorEntrySchema = Type.Object({
  entry: Type.String({ format: 'uuid', description: 'Its id in the audit log.' }),
  log: Type.Integer(),
  index: Type.Integer({ description: 'The position of the entry in the log.' }),
  at: Type.String({ format: 'date-time' }),
  act: Type.String({ examples: ['card.status_changed', 'client.created', 'person.signed_in'] }),
  outcome: Type.String({ examples: ['done', 'refused', 'failed', 'erased'] }),
  clientId: nullableText,
  clientName: Type.Union([Type.String(), Type.Null()], {
    description: 'The name of the person or the client at present; null if it is not known.',
  }),
  publicToken: nullableText,
  subject: Type.Union([Type.String(), Type.Null()], {
    description: 'The key, client, product or other subject; null for an act on a card.',
  }),
  requestId: nullableText,
  reason: Type.Union([Type.String(), Type.Null()], {
    description: 'Why it was refused or failed.',
  }),
  count: Type.Integer({ description: 'Refusals of one minute are counted together.' }),
  details: Type.Unknown(),
  isErased: Type.Boolean(),
})
