import Type from 'typebox'
import { toMembers } from '../../domain/members.ts'
import { isMerchantKnown, merchantLengths } from '../../domain/merchant.ts'
import { AMOUNT_MAX } from '../../domain/money.ts'
import { holdsPanPart } from '../../domain/pan.ts'
import { type TransactionMembers, transactionTypes } from '../../domain/transaction.ts'
import { alwaysWith, type BodyRule, onlyWith } from './request.ts'
import { closed, stringPatterns } from './validation.ts'

const limits = { minimum: 0, maximum: AMOUNT_MAX }
const amount = Type.Integer({
  ...limits,
  description: 'In the smallest unit of `currency`: 1234 is 12.34 EUR. 0 asks about the account.',
  examples: [1234],
})
const billingAmount = Type.Integer({
  ...limits,
  description:
    'What the cardholder is charged, if the network converted `amount`: in the smallest unit of ' +
    '`billingCurrency`.',
  examples: [1118],
})
const createCurrency = () =>
  Type.String({ maxLength: 3, format: 'currency-code', examples: ['EUR'] })

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
        pattern: stringPatterns.visible,
        examples: ['Corner Bakery'],
      }),
    ),
    city: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: merchantLengths.city,
        format: 'free-text',
        pattern: stringPatterns.visible,
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

/** The amount of a message that always has one, as the cardholder is charged. */
export const moneyMembers = { amount, currency: createCurrency() }

const networkTransactionId = Type.String({
  pattern: stringPatterns.networkTransactionId,
  description: "The network's own id of the transaction.",
  examples: ['123456789012345'],
})

/** The members by which a later message names its payment, and its own reference. */
export const messageMembers = {
  paymentId: Type.Optional(Type.String({ format: 'id' })),
  networkTransactionId: Type.Optional(networkTransactionId),
  reference: Type.Optional(Type.String({ format: 'network-reference' })),
}

/** The members of the transaction in a request. */
export const transactionMembers = {
  amount: Type.Optional(amount),
  currency: Type.Optional(createCurrency()),
  billingAmount: Type.Optional(billingAmount),
  billingCurrency: Type.Optional(createCurrency()),
  cashbackAmount: Type.Optional(
    Type.Integer({
      ...limits,
      description: 'What of `amount` is paid out in cash, with the type `cashback`.',
      examples: [500],
    }),
  ),
  transactionType: Type.Optional(
    Type.Enum([...transactionTypes], {
      description:
        'Default: `purchase`. `quasiCash`: what is as good as cash. `refund` returns a purchase, ' +
        '`credit` pays other money to the card, `funding` takes money for another account. ' +
        '`inquiry` asks for the balance, and is declined.',
    }),
  ),
  merchant: Type.Optional(MerchantSchema),
  networkTransactionId: Type.Optional(networkTransactionId),
}

/** Whether a request can be approved in part. */
export const partialMember = {
  partialAllowed: Type.Optional(
    Type.Boolean({
      description:
        'Whether the terminal can take a part of `amount`. A purchase that is over a limit is ' +
        'then approved in part, with `10` and `approvedAmount`. Default: false.',
    }),
  ),
}

/** The same as it is recorded. */
export const recordedTransactionMembers = {
  ...transactionMembers,
  approvedAmount: Type.Optional(
    Type.Integer({ description: 'What was approved of `amount`, with `10`: a part.' }),
  ),
  transactionType: Type.Enum([...transactionTypes], { examples: ['purchase'] }),
}

/** The members by which a request raises a payment, and gives its hold an expiry. */
export const holdMembers = {
  paymentId: Type.Optional(
    Type.String({
      format: 'id',
      description: 'The payment that the request raises by its amount: an increment.',
    }),
  ),
  isIncrement: Type.Optional(
    Type.Boolean({
      description: 'Whether the request raises the payment with its `networkTransactionId`.',
    }),
  ),
  holdExpiresAt: Type.Optional(
    Type.String({ format: 'instant', description: "The network's own expiry of the hold." }),
  ),
}

/** An increment has an amount, and names its payment. */
export const incrementRules: readonly BodyRule[] = [
  alwaysWith('amount', 'paymentId'),
  alwaysWith('amount', 'isIncrement'),
  ({ isIncrement, networkTransactionId, paymentId }) =>
    isIncrement !== true || networkTransactionId !== undefined || paymentId !== undefined
      ? null
      : { pointer: '/networkTransactionId', detail: 'must be given with isIncrement' },
]

/** A clearing moves money, or is final and says that none was cleared. */
export const clearingRule: BodyRule = ({ amount: moved, isFinal = true, isRefund = false }) =>
  moved === 0 && (isRefund || !isFinal)
    ? { pointer: '/amount', detail: 'must be greater than 0, unless a clearing is final' }
    : null

/** An amount means nothing without its currency, and the reverse. */
export const moneyRules = [
  alwaysWith('currency', 'amount'),
  alwaysWith('amount', 'currency'),
  alwaysWith('billingCurrency', 'billingAmount'),
  alwaysWith('billingAmount', 'billingCurrency'),
  onlyWith('billingAmount', 'amount'),
  onlyWith('cashbackAmount', 'amount'),
  ({ amount: whole, cashbackAmount, transactionType }: Parameters<BodyRule>[0]) => {
    if (cashbackAmount === undefined) return null
    const pointer = '/cashbackAmount'
    if (transactionType !== 'cashback') {
      return { pointer, detail: 'is allowed with the transactionType cashback only' }
    }
    return Number(cashbackAmount) > Number(whole)
      ? { pointer, detail: 'must not be greater than amount' }
      : null
  },
]

/**
 * A request with the default of its transaction type, and without an empty merchant or what is
 * false, which says as much as its absence: equal for requests of the same meaning, so that a
 * repeat may be written in another way.
 */
export const toCanonicalRequest = ({
  isIncrement,
  merchant,
  partialAllowed,
  ...request
}: AskedMembers): object => ({
  ...request,
  transactionType: request.transactionType ?? 'purchase',
  ...(merchant && isMerchantKnown(merchant) && { merchant }),
  ...(partialAllowed && { partialAllowed }),
  ...(isIncrement && { isIncrement }),
})

/** The members of a request that can be written in several ways. */
interface AskedMembers extends TransactionMembers {
  readonly partialAllowed?: boolean
  readonly isIncrement?: boolean
}

const merchantMembers = Object.keys(MerchantSchema.properties)

/** The members of a network's request that are texts of its own. */
const networkTexts = [
  'reference',
  'networkTransactionId',
  'reversalId',
  'adviceId',
  'clearingId',
  'messageKey',
] as const

/**
 * Lists the ids of a network's message, each with its place.
 * @param at the place of the message in the body.
 */
export const listNetworkIds = (
  message: Partial<Record<(typeof networkTexts)[number], string>>,
  at = '',
): { pointer: string; text: string }[] =>
  networkTexts.flatMap((name) => {
    const text = message[name]
    return text === undefined ? [] : [{ pointer: `${at}/${name}`, text }]
  })

/** No text of the network or of the merchant holds a part of the card's number. */
export const panRule: BodyRule = (body) => {
  const { merchant, pan } = body
  if (typeof pan !== 'string') return null
  const described = toMembers(merchant)
  const texts: readonly (readonly [pointer: string, text: unknown])[] = [
    ...networkTexts.map((name) => [`/${name}`, body[name]] as const),
    ...merchantMembers.map((name) => [`/merchant/${name}`, described[name]] as const),
  ]
  const [pointer] = texts.find(([, text]) => holdsPanPart(pan, String(text ?? ''))) ?? []
  return pointer === undefined
    ? null
    : { pointer, detail: 'must not hold digits of the card number' }
}
