import * as schemas from '../../http/control-schemas.ts'

export const {
  ControlRulesSchema,
  ControlsVersionSchema,
  ProductControlsSchema,
  ReplaceProductControlsSchema,
  SpendingLimitSchema,
} = schemas
