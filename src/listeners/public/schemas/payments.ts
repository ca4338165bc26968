import Type from 'typebox'

/** A payment that is not of this form is not found. */
export const PaymentParamsSchema = Type.Object({
  paymentId: Type.String({ description: 'From a list of payments, an authorization or an event.' }),
})
