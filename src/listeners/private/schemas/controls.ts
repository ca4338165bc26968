import * as backTests from '../../http/back-test.ts'
import * as schemas from '../../http/control-schemas.ts'

export const {
  ControlObjectionSchema,
  ControlRulesSchema,
  ControlsVersionSchema,
  ProductControlsSchema,
  ReplaceProductControlsSchema,
  SpendingLimitSchema,
} = schemas

export const {
  AuthorizationSumSchema,
  BackTestProductControlsSchema,
  ChangedAuthorizationSchema,
  ControlEffectSchema,
  ControlsBackTestSchema,
} = backTests
