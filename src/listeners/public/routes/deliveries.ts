import Type from 'typebox'
import { isDeliveryId } from '../../../domain/identifiers.ts'
import { Problem } from '../../../domain/problem.ts'
import {
  listDeliveries,
  replayDeliveries,
  resendDelivery,
} from '../../../operations/webhooks/deliveries.ts'
import { pingWebhook } from '../../../operations/webhooks/webhooks.ts'
import { nextLink, parseLimit, readCursor, writeCursor } from '../../http/pages.ts'
import { answerOf, repeatable } from '../../http/repeatable.ts'
import { PageQuerySchema } from '../schemas/cards.ts'
import {
  DeliveryParamsSchema,
  DeliverySchema,
  EmptyBodySchema,
  QueuedSchema,
  ReplayingSchema,
  ReplaySchema,
  WebhookParamsSchema,
} from '../schemas/webhooks.ts'
import { type Api, actingOf } from '../server.ts'
import { webhookIdOf } from './webhooks.ts'

/** What is delivered to a webhook, and having it delivered again. */
export function webhookDeliveryRoutes(api: Api): void {
  pingRoute(api)
  listRoute(api)
  resendRoute(api)
  replayRoute(api)
}

const config = { access: 'webhooks.write', repeatable: true } as const

function pingRoute({ app, base, issuing }: Api): void {
  app.post(
    `${base}/webhooks/:webhookId/ping`,
    {
      config,
      schema: {
        operationId: 'pingWebhook',
        summary: 'Ping a webhook',
        description:
          'Sends a signed message of the type `webhook.ping`, once. What came of it is among the ' +
          'deliveries.',
        tags: ['Webhooks'],
        params: WebhookParamsSchema,
        body: EmptyBodySchema,
        response: { 202: QueuedSchema },
      },
    },
    async (request, reply) => {
      const answer = await pingWebhook(
        issuing,
        actingOf(request),
        webhookIdOf(request),
        repeatable(request),
      )
      reply.code(202)
      return answerOf(reply, answer)
    },
  )
}

function listRoute({ app, base, issuing }: Api): void {
  app.get(
    `${base}/webhooks/:webhookId/deliveries`,
    {
      config: { access: 'webhooks.write', lists: true },
      schema: {
        operationId: 'listDeliveries',
        summary: "List a webhook's deliveries",
        description: 'Newest first, each with its tries.',
        tags: ['Webhooks'],
        params: WebhookParamsSchema,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(DeliverySchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const before = readCursor(cursor, ([id]) => (isDeliveryId(id) ? id : null))
      const deliveries = await listDeliveries(
        issuing,
        actingOf(request),
        // One more than asked for tells whether there is a next page.
        { webhookId: webhookIdOf(request), before, limit: pageSize + 1 },
      )
      const page = deliveries.slice(0, pageSize)
      const last = deliveries.length > pageSize ? page.at(-1) : undefined
      if (last) reply.header('link', nextLink(request.url, writeCursor([last.deliveryId])))
      return page.map((delivery) => ({ ...delivery, tries: [...delivery.tries] }))
    },
  )
}

function resendRoute({ app, base, issuing }: Api): void {
  app.post(
    `${base}/webhooks/:webhookId/deliveries/:deliveryId/resend`,
    {
      config,
      schema: {
        operationId: 'resendDelivery',
        summary: 'Send a delivery again',
        description: 'Now, and whether or not it was delivered; with the same `webhook-id`.',
        tags: ['Webhooks'],
        params: DeliveryParamsSchema,
        body: EmptyBodySchema,
        response: { 202: QueuedSchema },
      },
    },
    async (request, reply) => {
      const { deliveryId } = request.params
      if (!isDeliveryId(deliveryId)) throw new Problem('not_found')
      const answer = await resendDelivery(
        issuing,
        actingOf(request),
        { webhookId: webhookIdOf(request), deliveryId },
        repeatable(request),
      )
      reply.code(202)
      return answerOf(reply, answer)
    },
  )
}

function replayRoute({ app, base, issuing }: Api): void {
  app.post(
    `${base}/webhooks/:webhookId/replay`,
    {
      config: { ...config, bodyRequired: true },
      schema: {
        operationId: 'replayWebhook',
        summary: 'Deliver what was not delivered',
        description:
          'Everything since an instant that the webhook wants and did not get: what failed, and ' +
          'what was told while it was disabled or not yet there.',
        tags: ['Webhooks'],
        params: WebhookParamsSchema,
        body: ReplaySchema,
        response: { 202: ReplayingSchema },
      },
    },
    async (request, reply) => {
      const answer = await replayDeliveries(
        issuing,
        actingOf(request),
        { webhookId: webhookIdOf(request), since: request.body.since },
        repeatable(request),
      )
      reply.code(202)
      return answerOf(reply, answer)
    },
  )
}
