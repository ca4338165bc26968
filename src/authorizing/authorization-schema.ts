import Type, { type Static } from 'typebox'

const CheckOutcomeSchema = Type.Object({
  result: Type.Enum(['match', 'mismatch', 'blocked', 'not_checked', 'unresolved']),
  remainingTries: Type.Integer({ minimum: 0 }),
})

/** What became of the PIN or CVV2 in a question. */
export type CheckOutcome = Static<typeof CheckOutcomeSchema>

/** The response codes that are given here (ISO 8583, field 39; N7 as Visa has it). */
const responseCodes = [
  '00',
  '14',
  '41',
  '43',
  '46',
  '54',
  '55',
  '62',
  '75',
  '78',
  '86',
  '96',
  'N7',
] as const
export type ResponseCode = (typeof responseCodes)[number]

/** What a card network is answered. A negative answer is an answer. */
export const AuthorizationSchema = Type.Object({
  approved: Type.Boolean(),
  responseCode: Type.Enum([...responseCodes]),
  publicToken: Type.Optional(Type.String({ examples: ['4820117360'] })),
  reference: Type.String({ examples: ['512345678901'] }),
  pin: Type.Optional(CheckOutcomeSchema),
  cvv: Type.Optional(CheckOutcomeSchema),
})
export type Authorization = Static<typeof AuthorizationSchema>
