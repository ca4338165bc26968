import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isPublicToken } from '../../../domain/identifiers.ts'
import { toMembers } from '../../../domain/members.ts'
import type { Problem } from '../../../domain/problem.ts'
import * as acts from '../../../operations/cards/operator-acts.ts'
import { requireCaller } from '../../http/authentication.ts'
import { markReplay, noContent, repeatable } from '../../http/repeatable.ts'
import { type PrivateApi, parsePublicToken, supportAct } from '../api.ts'
import { approvalByBody } from '../approval-gate.ts'
import * as cardSchemas from '../schemas/cards.ts'

const tags = ['Cards']
const params = Type.Object({ publicToken: Type.String() })

/** Returns the actor in the form of records. */
export const operatorOnCards = (request: FastifyRequest): acts.Operator => ({
  operatorId: requireCaller(request).clientId,
  requestId: request.id,
})

interface CardAct {
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly problems: readonly ('card_status_conflict' | 'card_closed' | 'rate_limited')[]
  readonly act: typeof acts.freezeCard
}

const cardActs: readonly CardAct[] = [
  {
    path: 'freeze',
    operationId: 'freezeCard',
    summary: 'Freeze a card',
    description:
      'Sets the status `62` Restricted, in which authorizations are declined. A frozen card ' +
      'stays unchanged.',
    problems: ['card_status_conflict'],
    act: acts.freezeCard,
  },
  {
    path: 'unfreeze',
    operationId: 'unfreezeCard',
    summary: 'Unfreeze a card',
    description:
      'Moves the card from `62` Restricted to `00` Active. Cards with another status are rejected.',
    problems: ['card_status_conflict'],
    act: acts.unfreezeCard,
  },
  ...(['pin', 'cvv'] as const).map((kind) => ({
    path: `${kind}/unblock`,
    operationId: `unblock${kind === 'pin' ? 'Pin' : 'Cvv'}AsOperator`,
    summary: `Unblock the ${kind.toUpperCase()} of a card of any client`,
    description: "Restores all tries. The card's limit of unblocks applies to operators, too.",
    problems: ['card_closed', 'rate_limited'] as const,
    act: (...[operations, operator, act, request]: Parameters<typeof acts.freezeCard>) =>
      acts.unblockAsOperator(operations, operator, { ...act, kind }, request),
  })),
]

/** Routes for an operator's acts on a card of any client, each with a reason. */
export function cardActRoutes({ app, cards }: PrivateApi): void {
  for (const { act, description, operationId, path, problems, summary } of cardActs) {
    app.post(
      `/cards/:publicToken/${path}`,
      {
        config: { ...supportAct, problems },
        schema: {
          operationId,
          summary,
          description,
          tags,
          params,
          body: cardSchemas.ReasonSchema,
          response: { 204: cardSchemas.NothingSchema },
        },
      },
      async (request, reply) => {
        const { reason } = request.body
        const what = { publicToken: parsePublicToken(request), reason }
        return noContent(
          reply,
          await act(cards, operatorOnCards(request), what, repeatable(request)),
        )
      },
    )
  }
}

/** Unblocks many cards at once, for example after an outage that blocked them. */
export function unblockManyRoute({ app, approvals, cards }: PrivateApi): void {
  app.post(
    '/cards/unblock',
    {
      config: {
        ...supportAct,
        approval: approvalByBody(cardSchemas.UnblockCardsSchema, {
          kinds: ['unblock-cards'],
          async findKinds({ publicTokens }, request) {
            if (!approvals.required.has('unblock-cards')) return []
            const isWithin = await acts.spendUnblocks(
              cards,
              operatorOnCards(request),
              { count: publicTokens.length, countMost: approvals.unblockCardsMost },
              repeatable(request),
            )
            return isWithin ? [] : ['unblock-cards']
          },
        }),
      },
      schema: {
        operationId: 'unblockCards',
        summary: 'Unblock the PIN or CVV of many cards',
        description:
          'Each card is a separate act. A repeat with the same idempotency key resumes where ' +
          'the first request stopped, and unblocks no card twice. The answer states for each ' +
          'card whether it was unblocked and, if not, why.',
        tags,
        body: cardSchemas.UnblockCardsSchema,
        response: { 200: Type.Array(cardSchemas.UnblockedCardSchema) },
      },
    },
    async (request, reply) => {
      const { kind, publicTokens, reason } = request.body
      const many = { kind, reason, publicTokens: publicTokens.filter(isPublicToken) }
      const operator = operatorOnCards(request)
      const answer = await acts.unblockMany(cards, operator, many, repeatable(request))
      return [...markReplay(reply, answer)]
    },
  )
}

/** Reveals the cardholder: a disclosure, like that of a PIN. */
export function revealCardholderRoute({ app, cards }: PrivateApi): void {
  const recordRefusal = (request: FastifyRequest, { code, status }: Problem): Promise<void> => {
    const { publicToken } = toMembers(request.params)
    return cards.refusedDisclosures.record(
      {
        clientId: requireCaller(request).clientId,
        publicToken: isPublicToken(publicToken) ? publicToken : null,
        act: 'cardholder.revealed',
        includesPin: false,
        device: null,
        outcome: status < 500 ? 'refused' : 'failed',
        reason: code,
      },
      request.id,
    )
  }
  app.post(
    '/cards/:publicToken/cardholder',
    {
      config: {
        access: 'support.write',
        repeatable: true,
        discloses: true,
        problems: ['rate_limited'],
        beforeProblem: recordRefusal,
      },
      schema: {
        operationId: 'revealCardholder',
        summary: "Read the names of a card's holder",
        description:
          'Returns the names and no other personal data. The disclosure is recorded before it ' +
          'is sent; `Audit-Entry` names the entry. A repeat with the same idempotency key ' +
          'within a minute is the same disclosure, with the same entry; a later one is another ' +
          'disclosure.',
        tags,
        params,
        response: { 200: cardSchemas.CardholderSchema },
      },
    },
    async (request, reply) => {
      const operator = operatorOnCards(request)
      const card = parsePublicToken(request)
      const answer = await acts.revealCardholder(cards, operator, card, repeatable(request))
      const { entryId, ...names } = markReplay(reply, answer)
      reply.header('audit-entry', entryId)
      return names
    },
  )
}
