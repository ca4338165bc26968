import Type from 'typebox'

const StatusSchema = Type.Enum(['pass', 'warn', 'fail'])

/** One check in the health document. */
export const HealthCheckSchema = Type.Object({
  status: StatusSchema,
  output: Type.Optional(Type.String()),
  observedValue: Type.Optional(Type.Number()),
  observedUnit: Type.Optional(Type.String()),
})

/** The health document (draft-inadarei-api-health-check-06). */
export const HealthSchema = Type.Object({
  status: StatusSchema,
  checks: Type.Record(Type.String(), Type.Array(HealthCheckSchema)),
})
