import Type from 'typebox'
import { entryModes } from '../../../operations/authorizations/authorization.ts'
import * as backTests from '../../http/back-test.ts'
import * as schemas from '../../http/control-schemas.ts'
import { partialMember, transactionMembers } from '../../http/transaction-members.ts'
import { closed } from '../../http/validation.ts'

export const {
  CardControlsSchema,
  ControlObjectionSchema,
  ControlRulesSchema,
  ControlsVersionSchema,
  ReplaceCardControlsSchema,
  SpendingLimitSchema,
} = schemas

export const {
  AuthorizationSumSchema,
  BackTestCardControlsSchema,
  ChangedAuthorizationSchema,
  ControlEffectSchema,
  ControlsBackTestSchema,
} = backTests

export const ExplainControlsSchema = Type.Object(
  {
    entryMode: Type.Enum([...entryModes], { examples: ['chip'] }),
    ...transactionMembers,
    ...partialMember,
  },
  closed,
)

const objections = (description: string) => Type.Array(ControlObjectionSchema, { description })

export const ControlsExplanationSchema = Type.Object({
  approved: Type.Boolean({
    description: 'Whether no control objects, or a part of the amount is approved.',
  }),
  approvedAmount: Type.Optional(
    Type.Integer({ description: 'With `partialAllowed`: the part that limits of amounts leave.' }),
  ),
  productControlsVersion: Type.Integer(),
  cardControlsVersion: Type.Integer(),
  objections: objections(
    'In the order in which they are checked: the first one decides an authorization.',
  ),
  shadowObjections: objections('Of the shadow controls, which decide nothing.'),
})
