import Type from 'typebox'
import * as acts from '../../../operations/cards/operator-life-acts.ts'
import { findPossibleActs } from '../../../operations/cards/possible-acts.ts'
import { requirePostalCode } from '../../http/postal-address.ts'
import { markReplay, noContent, repeatable } from '../../http/repeatable.ts'
import { type PrivateApi, parsePublicToken, support, supportAct } from '../api.ts'
import { approvalByBody } from '../approval-gate.ts'
import * as schemas from '../schemas/card-life-acts.ts'
import { NothingSchema, ReasonSchema } from '../schemas/cards.ts'
import { operatorOnCards } from './card-acts.ts'

const tags = ['Cards']
const params = Type.Object({ publicToken: Type.String() })

/** Reads which acts of card life are possible, before an operator does one. */
export function possibleActsRoute({ app, cards }: PrivateApi): void {
  app.get(
    '/cards/:publicToken/possible-acts',
    {
      config: support,
      schema: {
        operationId: 'readPossibleActs',
        summary: 'Read the possible acts on a card',
        description:
          'What activating, renewing, converting and replacing the card would do now, or why it ' +
          'would be refused.',
        tags,
        params,
        response: { 200: schemas.PossibleActsSchema },
      },
    },
    async (request) => findPossibleActs(cards, parsePublicToken(request)),
  )
}

/** Routes by which operators activate and replace a card of any client, with a reason. */
export function successionActRoutes({ app, cards }: PrivateApi): void {
  app.post(
    '/cards/:publicToken/activate',
    {
      config: { ...supportAct, problems: ['card_status_conflict', 'nothing_to_migrate'] },
      schema: {
        operationId: 'activateCardAsOperator',
        summary: 'Activate a card of any client',
        description:
          'Moves the card from `02` Inactive to `00` Active, or activates the plastic of a ' +
          'converted card. A card that replaces others retires them in the same act.',
        tags,
        params,
        body: ReasonSchema,
        response: { 204: NothingSchema },
      },
    },
    async (request, reply) => {
      const act = { publicToken: parsePublicToken(request), reason: request.body.reason }
      const operator = operatorOnCards(request)
      const answer = await acts.activateAsOperator(cards, operator, act, repeatable(request))
      return noContent(reply, answer)
    },
  )
  app.post(
    '/cards/:publicToken/replace',
    {
      config: {
        ...supportAct,
        problems: ['card_closed', 'card_already_replaced', 'product_not_available'],
      },
      schema: {
        operationId: 'replaceCardAsOperator',
        summary: 'Replace a card of any client',
        description:
          'As a client replaces its card, by one of the same product. The new card goes to the ' +
          'address on record, and its PIN is what the reason says.',
        tags,
        params,
        body: schemas.ReplaceAsOperatorSchema,
        response: { 200: schemas.SuccessorOfAnyClientSchema },
      },
    },
    async (request, reply) => {
      const act = { ...request.body, publicToken: parsePublicToken(request) }
      const operator = operatorOnCards(request)
      const answer = await acts.replaceAsOperator(cards, operator, act, repeatable(request))
      const successor = markReplay(reply, answer)
      reply.header('location', `/cards/${successor.publicToken}`)
      return successor
    },
  )
}

/** Routes by which operators renew a card of any client, with a reason. */
export function renewalActRoutes({ app, cards }: PrivateApi): void {
  app.post(
    '/cards/:publicToken/renew',
    {
      config: {
        ...supportAct,
        problems: [
          'card_closed',
          'card_already_replaced',
          'renewal_not_due',
          'renewal_in_progress',
          'nothing_to_migrate',
          'too_many_plastics',
        ],
      },
      schema: {
        operationId: 'renewCardAsOperator',
        summary: 'Renew a card of any client',
        description:
          'As a client renews its card, with the default expiry. The plastic goes to the address ' +
          'on record.',
        tags,
        params,
        body: schemas.RenewAsOperatorSchema,
        response: { 204: NothingSchema },
      },
    },
    async (request, reply) => {
      const { reason, renewStep: step = 'Renew' } = request.body
      const act = { publicToken: parsePublicToken(request), reason, step }
      const operator = operatorOnCards(request)
      const answer = await acts.renewAsOperator(cards, operator, act, repeatable(request))
      return noContent(reply, answer)
    },
  )
  app.post(
    '/cards/:publicToken/cancel-renewal',
    {
      config: {
        ...supportAct,
        problems: [
          'card_closed',
          'card_already_replaced',
          'nothing_to_migrate',
          'renewal_produced',
          'renewal_in_progress',
        ],
      },
      schema: {
        operationId: 'cancelRenewalAsOperator',
        summary: 'Cancel the renewal of a card of any client',
        description:
          'Cancels the plastic that waits until it is produced, and again after it was returned. ' +
          'With `notReceived`, a plastic that was lost on its way is cancelled, too.',
        tags,
        params,
        body: schemas.CancelRenewalAsOperatorSchema,
        response: { 204: NothingSchema },
      },
    },
    async (request, reply) => {
      const { notReceived: isNotReceived = false, reason } = request.body
      const act = { publicToken: parsePublicToken(request), reason, isNotReceived }
      const operator = operatorOnCards(request)
      const answer = await acts.cancelRenewalAsOperator(cards, operator, act, repeatable(request))
      return noContent(reply, answer)
    },
  )
}

/** Gives a virtual card of any client plastic, with a reason. */
export function conversionActRoute({ app, cards }: PrivateApi): void {
  app.post(
    '/cards/:publicToken/convert',
    {
      config: {
        ...supportAct,
        problems: [
          'card_closed',
          'card_already_replaced',
          'card_status_conflict',
          'too_many_plastics',
          'conversion_not_supported',
        ],
      },
      schema: {
        operationId: 'convertCardAsOperator',
        summary: 'Give a virtual card of any client plastic',
        description:
          'As a client converts its card. The plastic goes to the address of the cardholder, and ' +
          'is declined until it is activated.',
        tags,
        params,
        body: ReasonSchema,
        response: { 204: NothingSchema },
      },
    },
    async (request, reply) => {
      const act = { publicToken: parsePublicToken(request), reason: request.body.reason }
      const operator = operatorOnCards(request)
      const answer = await acts.convertAsOperator(cards, operator, act, repeatable(request))
      return noContent(reply, answer)
    },
  )
}

/** Sends the plastic of a card of any client to another address, with a reason. */
export function deliveryAddressRoute({ app, cards }: PrivateApi): void {
  app.post(
    '/cards/:publicToken/delivery-address',
    {
      config: {
        ...supportAct,
        bodyRules: [requirePostalCode('fulfilment')],
        // The person who receives the plastic can use the card.
        approval: approvalByBody(schemas.ChangeDeliverySchema, { kinds: ['card-delivery'] }),
      },
      schema: {
        operationId: 'changeDeliveryAddressAsOperator',
        summary: 'Change where the plastic of a card of any client goes',
        description:
          'As a client changes the `fulfilment` of its physical card. It holds for the next ' +
          'plastics, and for one that the bureau has not read yet.',
        tags,
        params,
        body: schemas.ChangeDeliverySchema,
        response: { 204: NothingSchema },
      },
    },
    async (request, reply) => {
      const act = { ...request.body, publicToken: parsePublicToken(request) }
      const operator = operatorOnCards(request)
      const answer = await acts.changeDeliveryAsOperator(cards, operator, act, repeatable(request))
      return noContent(reply, answer)
    },
  )
}
