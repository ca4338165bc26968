import Type from 'typebox'
import { closed } from '../../http/validation.ts'

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
    reason: Type.String({
      minLength: 1,
      maxLength: 500,
      format: 'free-text',
      description: 'The reason. Give no personal data: the text is published to auditors.',
    }),
  },
  closed,
)

export const SuccessionSchema = Type.Object({
  log: Type.Integer(),
  origin: Type.String(),
  predecessorCheckpoint: nullableText,
})
