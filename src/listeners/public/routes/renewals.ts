import { parseExpiry } from '../../../domain/calendar.ts'
import { parseCardType } from '../../../domain/product.ts'
import { cancelRenewal, convertCard, renewCard } from '../../../operations/cards/renewals.ts'
import { requirePostalCode } from '../../http/postal-address.ts'
import { markReplay, noContent, repeatable } from '../../http/repeatable.ts'
import type { BodyRule } from '../../http/request.ts'
import { createRequester, type PublicApi, parsePublicToken } from '../api.ts'
import * as schemas from '../schemas/cards.ts'

const tags = ['Life of a card']

export function renewCardRoute({ app, base, issuing }: PublicApi): void {
  app.post(
    `${base}/cards/:publicToken/renew`,
    {
      config: {
        access: 'cards.write',
        repeatable: true,
        bodyRules: [
          forbidUnless('expiryDate', ['Renew']),
          forbidUnless('activateNow', ['Renew', 'RenewWithSameExpiry']),
          forbidUnless('freetext1', ['Renew', 'RenewWithSameExpiry']),
          forbidUnless('freetext2', ['Renew', 'RenewWithSameExpiry']),
        ],
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
        operationId: 'renewCard',
        summary: 'Renew a card',
        description:
          'The number, the PIN and the tries stay. A virtual card is renewed at once. The ' +
          'present plastic of a physical card works on until `Migrate` makes the ordered one ' +
          'current. ' +
          "An expired card can be renewed within its product's grace period.",
        tags,
        params: schemas.CardParamsSchema,
        body: schemas.RenewCardSchema,
        response: { 204: schemas.NoContentSchema },
      },
    },
    async (request, reply) => {
      const { expiryDate, renewStep = 'Renew', ...members } = request.body ?? {}
      const expiry = expiryDate === undefined ? null : parseExpiry(expiryDate)
      const answer = await renewCard(
        issuing,
        createRequester(request),
        {
          ...members,
          publicToken: parsePublicToken(request),
          step: renewStep,
          ...(expiry && { expiry }),
        },
        repeatable(request),
      )
      return noContent(reply, answer)
    },
  )
}

/** A member that only some steps have. */
const forbidUnless =
  (member: string, steps: readonly string[]): BodyRule =>
  ({ [member]: value, renewStep = 'Renew' }) =>
    value === undefined || steps.includes(String(renewStep))
      ? null
      : { pointer: `/${member}`, detail: `is for ${steps.join(' and ')} only` }

export function cancelRenewalRoute({ app, base, issuing }: PublicApi): void {
  app.delete(
    `${base}/cards/:publicToken/renewal`,
    {
      config: {
        access: 'cards.write',
        repeatable: true,
        problems: [
          'card_closed',
          'card_already_replaced',
          'nothing_to_migrate',
          'renewal_in_progress',
          'renewal_produced',
        ],
      },
      schema: {
        operationId: 'cancelRenewal',
        summary: 'Cancel the renewal of a card',
        description:
          'Possible until the plastic is produced, and again after it was returned. With ' +
          '`notReceived=true`, a plastic that was lost on its way is cancelled, too.',
        tags,
        params: schemas.CardParamsSchema,
        querystring: schemas.CancelRenewalQuerySchema,
        response: { 204: schemas.NoContentSchema },
      },
    },
    async (request, reply) => {
      const isNotReceived = request.query.notReceived === 'true'
      const answer = await cancelRenewal(
        issuing,
        createRequester(request),
        { publicToken: parsePublicToken(request), isNotReceived },
        repeatable(request, { body: { isNotReceived } }),
      )
      return noContent(reply, answer)
    },
  )
}

export function convertCardRoutes({ app, base, issuing }: PublicApi): void {
  for (const method of ['PUT', 'PATCH'] as const) {
    app.route({
      method,
      url: `${base}/cards/:publicToken/card-type`,
      config: {
        access: 'cards.write',
        repeatable: true,
        bodyRequired: true,
        bodyRules: [
          ({ cardType }) =>
            parseCardType(String(cardType)) === 'Virtual'
              ? { pointer: '/cardType', detail: 'must be Physical' }
              : null,
          requirePostalCode('fulfilment'),
        ],
        problems: [
          'card_closed',
          'card_already_replaced',
          'card_status_conflict',
          'too_many_plastics',
          'conversion_not_supported',
        ],
      },
      schema: {
        // The document describes one of the two methods, which do the same.
        hide: method === 'PATCH',
        operationId: 'convertCard',
        summary: 'Give a virtual card plastic',
        description:
          'The number, the expiry and the CVV2 stay, and the card works on without its plastic. ' +
          'The chip, the stripe and cash machines are declined until the plastic is activated. ' +
          'PATCH does the same.',
        tags,
        params: schemas.CardParamsSchema,
        body: schemas.ConvertCardSchema,
        response: { 200: schemas.CardSchema },
      },
      handler: async (request, reply) => {
        const { cardType: _, ...members } = request.body
        const answer = await convertCard(
          issuing,
          createRequester(request),
          { ...members, publicToken: parsePublicToken(request) },
          repeatable(request),
        )
        return markReplay(reply, answer)
      },
    })
  }
}
