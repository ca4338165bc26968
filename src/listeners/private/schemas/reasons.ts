import Type from 'typebox'
import { optional, stringPatterns } from '../../http/validation.ts'

/** The text of a reason, in which a reader sees something. */
export const reasonText = (maxLength: number, description: string) =>
  Type.String({ maxLength, format: 'free-text', pattern: stringPatterns.visible, description })

/** The reason in a request that may wait for another person. */
export const actReason = Type.Optional(
  reasonText(
    200,
    'The reason, which the approver reads. It stays in the audit log: give no personal data.',
  ),
)

/** An optional body that has nothing but a reason. */
export const ActReasonSchema = Type.Object({ reason: actReason }, optional)
