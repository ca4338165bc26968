import Type from 'typebox'
import { Cvv2 } from '../../../domain/cvv2.ts'
import { isPublicToken } from '../../../domain/identifiers.ts'
import { parsePan } from '../../../domain/pan.ts'
import { toTransaction } from '../../../domain/transaction.ts'
import {
  AuthorizationSchema,
  entryModes,
  pinBlockFormats,
} from '../../../operations/authorizations/authorization.ts'
import { authorize } from '../../../operations/authorizations/authorize.ts'
import { refuseCardNumbers } from '../../../operations/authorizations/network-ids.ts'
import { requireCaller } from '../../http/authentication.ts'
import { cardDataMembers, cardDataRules, parseCardData } from '../../http/card-data-members.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import { requireExactlyOne } from '../../http/request.ts'
import {
  holdMembers,
  incrementRules,
  listNetworkIds,
  moneyRules,
  panRule,
  partialMember,
  toCanonicalRequest,
  transactionMembers,
} from '../../http/transaction-members.ts'
import { closed, stringPatterns } from '../../http/validation.ts'
import type { PrivateApi } from '../api.ts'

const secret = { 'x-secret': true } as const

const PinBlockSchema = Type.Object(
  {
    format: Type.Enum([...pinBlockFormats]),
    key: Type.String({
      minLength: 1,
      maxLength: 32,
      pattern: stringPatterns.keyName,
      description: 'The name of a zone key of the network.',
    }),
    data: Type.String({ maxLength: 64, pattern: stringPatterns.hexadecimal, ...secret }),
  },
  closed,
)

const addressText = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, format: 'free-text', pattern: stringPatterns.visible })

const AuthorizationRequestSchema = Type.Object(
  {
    pan: Type.Optional(Type.String({ pattern: stringPatterns.pan, ...secret })),
    publicToken: Type.Optional(Type.String({ maxLength: 32 })),
    expiryDate: Type.Optional(Type.String({ format: 'year-month' })),
    entryMode: Type.Enum([...entryModes]),
    reference: Type.String({ format: 'network-reference' }),
    pinBlock: Type.Optional(PinBlockSchema),
    cvv2: Type.Optional(Type.String({ pattern: stringPatterns.cvv, ...secret })),
    cardholderAddress: Type.Optional(
      Type.Object(
        {
          postalCode: Type.Optional(addressText(10)),
          addressLine: Type.Optional(addressText(100)),
        },
        {
          ...closed,
          minProperties: 1,
          description: 'To be compared with the address of the card.',
          ...secret,
        },
      ),
    ),
    ...cardDataMembers,
    ...transactionMembers,
    ...partialMember,
    ...holdMembers,
  },
  closed,
)

/** Answers authorization requests of a card network's gateway. */
export function authorizeRoute({ app, authorizing }: PrivateApi): void {
  app.post(
    '/network/authorizations',
    {
      config: {
        access: 'authorizations.write',
        repeatable: true,
        bodyRequired: true,
        bodyRules: [
          requireExactlyOne('pan', 'publicToken'),
          ...moneyRules,
          ...incrementRules,
          ...cardDataRules,
          panRule,
        ],
      },
      schema: {
        operationId: 'authorize',
        summary: 'Authorize',
        description:
          'Exactly one of `pan` and `publicToken`. Every well-formed request is answered with ' +
          '200.',
        tags: ['Authorizations'],
        body: AuthorizationRequestSchema,
        response: { 200: AuthorizationSchema },
      },
    },
    async (request, reply) => {
      await refuseCardNumbers(authorizing, listNetworkIds(request.body))
      const { cardholderAddress, cvv2, entryMode, expiryDate, pinBlock, reference } = request.body
      const { holdExpiresAt, isIncrement, partialAllowed, paymentId } = request.body
      const { pan: digits, publicToken, ...transaction } = request.body
      const pan = parsePan(digits ?? '')
      // The route's rule ensures that one of them is given.
      const card = isPublicToken(publicToken) ? { publicToken } : pan && { pan }
      const answer = await authorize(
        authorizing,
        {
          card,
          ...(expiryDate !== undefined && { expiryDate }),
          entryMode,
          reference,
          transaction: toTransaction(transaction),
          ...((isIncrement || paymentId !== undefined) && {
            increment: { paymentId: paymentId ?? null },
          }),
          ...(partialAllowed && { isPartialAllowed: true }),
          ...(holdExpiresAt !== undefined && { holdExpiresAt: new Date(holdExpiresAt) }),
          ...(pinBlock !== undefined && { pinBlock }),
          ...(cardholderAddress !== undefined && { cardholderAddress }),
          ...(cvv2 !== undefined && { cvv2: new Cvv2(cvv2) }),
          ...parseCardData(request.body),
          networkId: requireCaller(request).clientId,
          requestId: request.id,
          onWaiting: () => request.inFlight?.leave(),
        },
        repeatable(request, { bearsSecret: true, body: toCanonicalRequest(request.body) }),
      )
      return markReplay(reply, answer)
    },
  )
}
