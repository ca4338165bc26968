import Type, { type Static } from 'typebox'
import {
  askErrors,
  clientDeclineCodes,
  deciders,
  decisionPurposes,
  verdicts,
} from '../../../domain/decision.ts'
import { entryModes } from '../../../domain/entry-mode.ts'
import { AMOUNT_MAX } from '../../../domain/money.ts'
import { transactionTypes } from '../../../domain/transaction.ts'
import { pageMembers } from '../../http/pages.ts'
import { closed, stringPatterns } from '../../http/validation.ts'
import { MetadataSchema } from './card-records.ts'

/** A decision that is not of this form is not found. */
export const DecisionParamsSchema = Type.Object({
  decisionId: Type.String({ description: 'From a request, a list of decisions or an event.' }),
})

export const ListDecisionsQuerySchema = Type.Object(
  {
    ...pageMembers,
    publicToken: Type.Optional(
      Type.String({ pattern: stringPatterns.publicToken, description: 'Of one card.' }),
    ),
    purpose: Type.Optional(Type.Enum([...decisionPurposes])),
    decidedBy: Type.Optional(Type.Enum([...deciders])),
  },
  closed,
)

export const ReplayQuerySchema = Type.Object(
  {
    version: Type.Optional(
      Type.String({
        pattern: stringPatterns.versionNumber,
        description: 'Of the endpoint that was asked; without it, what is in force now.',
        examples: ['3'],
      }),
    ),
  },
  closed,
)

const decision = Type.Enum([...verdicts], {
  description: '`challenge` declines, and asks for the authentication of the cardholder.',
})
/** The most members of an object whose members are the client's own. */
const openMembers = { additionalProperties: true, maxProperties: 100 } as const
const metadata = Type.Object(
  {},
  { ...openMembers, description: 'Your own, up to 2,000 characters of JSON.' },
)

/** The body of an answer by a call. Unknown members are ignored, as in an answer by HTTP. */
export const DecisionAnswerSchema = Type.Object(
  {
    decision,
    amount: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: AMOUNT_MAX,
        description: 'The part that is approved, if `partialAllowed`. Without it: all of the hold.',
        examples: [1000],
      }),
    ),
    reason: Type.Optional(
      Type.Enum(Object.keys(clientDeclineCodes) as (keyof typeof clientDeclineCodes)[], {
        description: 'Of a decline. Default: `do_not_honor`.',
        examples: ['insufficient_funds'],
      }),
    ),
    responseCode: Type.Optional(
      Type.Enum(Object.values(clientDeclineCodes), {
        description: 'Of a decline, in place of that of the reason.',
      }),
    ),
    holdExpiresAt: Type.Optional(
      Type.String({ format: 'instant', description: 'Of an approval, at most 31 days ahead.' }),
    ),
    metadata: Type.Optional(metadata),
  },
  openMembers,
)
export type DecisionAnswerBody = Static<typeof DecisionAnswerSchema>

/** The answer that counts from now on. */
export const AcceptedAnswerSchema = Type.Object({
  decisionId: Type.String({ format: 'uuid' }),
  decision,
})

const money = Type.Object({
  amount: Type.Integer({ description: 'In the smallest unit.', examples: [1234] }),
  currency: Type.String({ examples: ['EUR'] }),
})
const text = (description: string, example: string) =>
  Type.Optional(Type.String({ description, examples: [example] }))

/** The request to a client, in the format `pinfold`. Later versions may add members. */
export const DecisionRequestSchema = Type.Object({
  decisionId: Type.String({ format: 'uuid' }),
  purpose: Type.Enum([...decisionPurposes], {
    description: '`shadow` and `replay` decide nothing.',
  }),
  simulated: Type.Boolean({ description: "Whether it came from the sandbox's simulator." }),
  deadline: Type.String({ format: 'date-time' }),
  requestedAt: Type.String({ format: 'date-time' }),
  sequence: Type.Integer({ description: 'Counts the decisions of the card from 1.' }),
  card: Type.Object({
    publicToken: Type.String({ examples: ['4820117360'] }),
    productId: Type.Integer({ examples: [1001] }),
    customerReference: text('Yours, of the card.', 'C-1'),
    lastFour: Type.String({ examples: ['1234'] }),
    metadata: Type.Optional(MetadataSchema),
  }),
  authorizationId: Type.String({ format: 'uuid' }),
  paymentId: Type.Optional(Type.String({ format: 'uuid' })),
  step: Type.Enum(['authorization', 'increment']),
  transactionType: Type.Enum([...transactionTypes]),
  amounts: Type.Object({
    billing: Type.Optional(money),
    transaction: Type.Optional(money),
    cashback: Type.Optional(money),
    hold: Type.Optional(money),
  }),
  partialAllowed: Type.Boolean(),
  entryMode: Type.Enum([...entryModes]),
  cardPresent: Type.Boolean(),
  merchant: Type.Optional(
    Type.Object({
      id: text('', '000000012345678'),
      terminalId: text('', 'TERM0001'),
      name: text('', 'Corner Bakery'),
      city: text('', 'Madrid'),
      country: text('ISO 3166-1 alpha-3.', 'ESP'),
      categoryCode: text('ISO 18245.', '5462'),
    }),
  ),
  network: Type.Object({
    networkId: Type.String({ examples: ['demo-network'] }),
    reference: Type.String({ examples: ['512345678901'] }),
    transactionId: text('', 'MCC123456'),
  }),
  checks: Type.Array(Type.Object({ check: Type.String(), result: Type.String() })),
  limits: Type.Array(
    Type.Object({
      owner: Type.Enum(['product', 'card']),
      control: Type.String({ examples: ['limits.day'] }),
      maximumAmount: Type.Optional(Type.Integer()),
      maximumCount: Type.Optional(Type.Integer()),
      spentAmount: Type.Integer(),
      spentCount: Type.Integer(),
    }),
  ),
})

const hash = (of: string) =>
  Type.Optional(Type.String({ description: `SHA-256 of the exact bytes of the ${of}.` }))
const onAnswers = Type.Optional(Type.Integer({ description: 'Of the amount, if only a part.' }))

const recordedMembers = {
  decisionId: Type.String({ format: 'uuid' }),
  purpose: Type.Enum([...decisionPurposes]),
  publicToken: Type.String({ examples: ['4820117360'] }),
  sequence: Type.Integer({ description: 'Counts the decisions of the card from 1.' }),
  authorizationId: Type.String({ format: 'uuid' }),
  endpoint: Type.Object({
    productId: Type.Optional(
      Type.Integer({ description: 'Left out for the endpoint of all products.' }),
    ),
    version: Type.Integer(),
  }),
  hold: Type.Optional(money),
  askedAt: Type.String({ format: 'date-time' }),
  deadline: Type.String({ format: 'date-time' }),
  decidedAt: Type.Optional(
    Type.String({ format: 'date-time', description: 'Left out while it waits.' }),
  ),
  decidedBy: Type.Optional(
    Type.Enum([...deciders], {
      description: 'The endpoint, or what stood in. Left out if a trial had no answer.',
    }),
  ),
  decision: Type.Optional(decision),
  amount: onAnswers,
  reason: Type.Optional(Type.String({ examples: ['insufficient_funds'] })),
  responseCode: Type.Optional(Type.String({ examples: ['51'] })),
  error: Type.Optional(
    Type.Enum(['timeout', ...askErrors], { description: 'Why there was no usable answer.' }),
  ),
  statusCode: Type.Optional(Type.Integer({ description: 'Of the answer by HTTP.' })),
  durationMs: Type.Optional(Type.Integer({ description: 'From asking to the answer.' })),
  requestHash: hash('request'),
  answerHash: hash('answer'),
  metadata: Type.Optional(metadata),
  lateAnswer: Type.Optional(
    Type.Object(
      {
        decision,
        amount: onAnswers,
        reason: Type.Optional(Type.String()),
        responseCode: Type.Optional(Type.String()),
      },
      { description: 'The first answer after the deadline. It changed nothing.' },
    ),
  ),
}

export const RecordedDecisionSchema = Type.Object(recordedMembers)

export const DecisionWithRequestSchema = Type.Object({
  ...recordedMembers,
  request: DecisionRequestSchema,
})

export const DecisionReplaySchema = Type.Object({
  original: DecisionWithRequestSchema,
  replay: DecisionWithRequestSchema,
})
