import Type from 'typebox'
import { toMembers } from '../../domain/members.ts'
import { merchantLengths } from '../../domain/merchant.ts'
import { AMOUNT_MAX } from '../../domain/money.ts'
import { holdsPanPart } from '../../domain/pan.ts'
import { transactionTypes } from '../../domain/transaction.ts'
import { alwaysWith, type BodyRule } from './request.ts'
import { closed, stringPatterns } from './validation.ts'

const currency = Type.String({ maxLength: 3, format: 'currency-code', examples: ['EUR'] })

const amount = Type.Integer({
  minimum: 0,
  maximum: AMOUNT_MAX,
  description: 'In the smallest unit of `currency`: 1234 is 12.34 EUR. 0 asks about the account.',
  examples: [1234],
})

const MerchantSchema = Type.Object(
  {
    id: Type.Optional(
      Type.String({
        maxLength: merchantLengths.id,
        pattern: stringPatterns.printable,
        examples: ['000000012345678'],
      }),
    ),
    terminalId: Type.Optional(
      Type.String({
        maxLength: merchantLengths.terminalId,
        pattern: stringPatterns.printable,
        examples: ['TERM0001'],
      }),
    ),
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: merchantLengths.name,
        format: 'free-text',
        examples: ['Corner Bakery'],
      }),
    ),
    city: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: merchantLengths.city,
        format: 'free-text',
        examples: ['Madrid'],
      }),
    ),
    country: Type.Optional(
      Type.String({
        format: 'country-code',
        description: 'ISO 3166-1 alpha-3.',
        examples: ['ESP'],
      }),
    ),
    categoryCode: Type.Optional(
      Type.String({
        pattern: stringPatterns.categoryCode,
        description: 'Merchant category code (ISO 18245), four digits.',
        examples: ['5462'],
      }),
    ),
  },
  closed,
)

/** The members of the transaction in a request. */
export const transactionMembers = {
  amount: Type.Optional(amount),
  currency: Type.Optional(currency),
  transactionType: Type.Optional(
    Type.Enum([...transactionTypes], {
      description:
        'Default: `purchase`. `quasiCash`: what is as good as cash. `refund` returns a purchase, ' +
        '`credit` pays other money to the card, `funding` takes money for another account.',
    }),
  ),
  merchant: Type.Optional(MerchantSchema),
  networkTransactionId: Type.Optional(
    Type.String({
      pattern: stringPatterns.networkTransactionId,
      description: "The network's own id of the transaction.",
      examples: ['123456789012345'],
    }),
  ),
}

/** The same as it is recorded. */
export const recordedTransactionMembers = {
  ...transactionMembers,
  transactionType: Type.Enum([...transactionTypes], { examples: ['purchase'] }),
}

/** An amount means nothing without its currency, and the reverse. */
export const moneyRules = [alwaysWith('currency', 'amount'), alwaysWith('amount', 'currency')]

const merchantMembers = Object.keys(MerchantSchema.properties)

/** No text of the network or of the merchant holds a part of the card's number. */
export const panRule: BodyRule = ({ merchant, networkTransactionId, pan, reference }) => {
  if (typeof pan !== 'string') return null
  const described = toMembers(merchant)
  const texts: readonly (readonly [pointer: string, text: unknown])[] = [
    ['/reference', reference],
    ['/networkTransactionId', networkTransactionId],
    ...merchantMembers.map((name) => [`/merchant/${name}`, described[name]] as const),
  ]
  const [pointer] = texts.find(([, text]) => holdsPanPart(pan, String(text ?? ''))) ?? []
  return pointer === undefined
    ? null
    : { pointer, detail: 'must not hold digits of the card number' }
}
