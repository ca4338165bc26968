import Type from 'typebox'
import { authorizationMembers, checkMembers } from '../../http/authorization-members.ts'

/** An authorization that is not of this form is not found. */
export const AuthorizationParamsSchema = Type.Object({
  authorizationId: Type.String({ description: 'From a list of authorizations or an event.' }),
})

export const RecordedAuthorizationSchema = Type.Object({
  ...authorizationMembers,
  checks: Type.Array(Type.Object(checkMembers), {
    description:
      'In the order in which they were made. Checks after the first objection were not made.',
  }),
})
