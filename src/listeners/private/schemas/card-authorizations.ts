import Type from 'typebox'
import { authorizationMembers, checkMembers } from '../../http/authorization-members.ts'

const CheckSchema = Type.Object({
  ...checkMembers,
  afterMs: Type.Integer({ description: 'From the arrival of the request.' }),
  responseCode: Type.Optional(Type.String({ description: 'The response code of the decline.' })),
  tryNumber: Type.Optional(Type.Integer({ description: 'The number of the spent try.' })),
})

export const RecordedAuthorizationSchema = Type.Object({
  ...authorizationMembers,
  durationMs: Type.Integer({
    description: 'From the arrival of the request to its last check, without the commit.',
  }),
  networkId: Type.String(),
  requestId: Type.String(),
  checks: Type.Array(CheckSchema),
})
