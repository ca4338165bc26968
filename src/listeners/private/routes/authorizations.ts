import Type, { type Static } from 'typebox'
import {
  type AuthorizationOperations,
  AuthorizationSchema,
  entryModes,
  pinBlockFormats,
} from '../../../operations/authorizations/authorization.ts'
import { authorize } from '../../../operations/authorizations/authorize.ts'
import { callerOf } from '../../http/authentication.ts'
import { answerOf, repeatable } from '../../http/repeatable.ts'
import { exactlyOneOf } from '../../http/request.ts'
import type { Server } from '../../http/server.ts'
import { stringPatterns } from '../../http/validation.ts'

const closed = { additionalProperties: false } as const
const secret = { 'x-secret': true } as const

const PinBlockSchema = Type.Object(
  {
    format: Type.Enum([...pinBlockFormats]),
    key: Type.String({
      minLength: 1,
      maxLength: 32,
      pattern: stringPatterns.keyName,
      description: 'Names a zone key of the network.',
    }),
    data: Type.String({ maxLength: 64, pattern: stringPatterns.hexadecimal, ...secret }),
  },
  closed,
)

const AuthorizationRequestSchema = Type.Object(
  {
    pan: Type.Optional(Type.String({ pattern: stringPatterns.pan, ...secret })),
    publicToken: Type.Optional(Type.String({ maxLength: 32 })),
    expiryDate: Type.Optional(Type.String({ format: 'year-month' })),
    entryMode: Type.Enum([...entryModes]),
    reference: Type.String({ format: 'network-reference' }),
    pinBlock: Type.Optional(PinBlockSchema),
    cvv2: Type.Optional(Type.String({ pattern: stringPatterns.cvv, ...secret })),
  },
  closed,
)
type AuthorizationRequest = Static<typeof AuthorizationRequestSchema>

/** What the card network's gateway asks. */
export function authorizationRoutes(
  app: Server['app'],
  authorizing: AuthorizationOperations,
): void {
  app.post(
    '/network/authorizations',
    {
      config: {
        access: 'authorizations.write',
        repeatable: true,
        bodyRequired: true,
        bodyRules: [exactlyOneOf('pan', 'publicToken')],
      },
      schema: {
        operationId: 'authorize',
        summary: 'Authorize',
        description: 'Exactly one of `pan` and `publicToken`. 200 for every well-formed question.',
        tags: ['Network'],
        body: AuthorizationRequestSchema,
        response: { 200: AuthorizationSchema },
      },
    },
    async (request, reply) => {
      const { pan, publicToken, ...question } = request.body
      const answer = await authorize(
        authorizing,
        {
          ...question,
          card: cardOf({ pan, publicToken }),
          networkId: callerOf(request).clientId,
          requestId: request.id,
        },
        repeatable(request, { bearsSecret: true }),
      )
      return answerOf(reply, answer)
    },
  )
}

type CardMembers = { [Member in 'pan' | 'publicToken']: AuthorizationRequest[Member] | undefined }

/** The one that is given: the route's rule has seen to that. */
function cardOf({ pan, publicToken }: CardMembers): { pan: string } | { publicToken: string } {
  if (pan !== undefined) return { pan }
  if (publicToken !== undefined) return { publicToken }
  throw new Error('The rule let a question without a card pass.')
}
