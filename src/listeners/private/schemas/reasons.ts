import Type from 'typebox'
import { optional } from '../../http/validation.ts'

/** The reason in a request that may wait for another person. */
export const actReason = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 200,
    format: 'free-text',
    description:
      'The reason, which the approver reads. It stays in the audit log: give no personal data.',
  }),
)

/** An optional body that has nothing but a reason. */
export const ActReasonSchema = Type.Object({ reason: actReason }, optional)
