import Type from 'typebox'
import { isDeliveryId } from '../../../domain/identifiers.ts'
import { Problem } from '../../../domain/problem.ts'
import {
  listDeliveries,
  replayDeliveries,
  resendDelivery,
} from '../../../operations/webhooks/deliveries.ts'
import { pingWebhook } from '../../../operations/webhooks/webhooks.ts'
import { cutPage, PageQuerySchema, parseLimit, readCursor } from '../../http/pages.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import { EmptyBodySchema } from '../../http/validation.ts'
import { createRequester, type PublicApi, parseWebhookId } from '../api.ts'
import * as webhookSchemas from '../schemas/webhooks.ts'

const config = { access: 'webhooks.write', repeatable: true } as const

export function pingWebhookRoute({ app, base, issuing }: PublicApi): void {
  app.post(
    `${base}/webhooks/:webhookId/ping`,
    {
      config,
      schema: {
        operationId: 'pingWebhook',
        summary: 'Ping a webhook',
        description:
          'Sends a signed message of the type `webhook.ping`, once. Its outcome is in the ' +
          'list of deliveries.',
        tags: ['Webhooks'],
        params: webhookSchemas.WebhookParamsSchema,
        body: EmptyBodySchema,
        response: { 202: webhookSchemas.QueuedSchema },
      },
    },
    async (request, reply) => {
      const answer = await pingWebhook(
        issuing,
        createRequester(request),
        parseWebhookId(request),
        repeatable(request),
      )
      reply.code(202)
      return markReplay(reply, answer)
    },
  )
}

export function listDeliveriesRoute({ app, base, issuing }: PublicApi): void {
  app.get(
    `${base}/webhooks/:webhookId/deliveries`,
    {
      config: { access: 'webhooks.write', lists: true },
      schema: {
        operationId: 'listDeliveries',
        summary: "List a webhook's deliveries",
        description: 'Newest first, each with its attempts.',
        tags: ['Webhooks'],
        params: webhookSchemas.WebhookParamsSchema,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(webhookSchemas.DeliverySchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const before = readCursor(cursor, ([id]) => (isDeliveryId(id) ? id : null))
      const deliveries = await listDeliveries(issuing, createRequester(request), {
        webhookId: parseWebhookId(request),
        before,
        limit: pageSize + 1,
      })
      const page = cutPage(request, reply, deliveries, {
        limit: pageSize,
        toPosition: (last) => [last.deliveryId],
      })
      return page.map((delivery) => ({ ...delivery, tries: [...delivery.tries] }))
    },
  )
}

export function resendDeliveryRoute({ app, base, issuing }: PublicApi): void {
  app.post(
    `${base}/webhooks/:webhookId/deliveries/:deliveryId/resend`,
    {
      config,
      schema: {
        operationId: 'resendDelivery',
        summary: 'Send a delivery again',
        description: 'At once, whether or not it was delivered, with the same `webhook-id`.',
        tags: ['Webhooks'],
        params: webhookSchemas.DeliveryParamsSchema,
        body: EmptyBodySchema,
        response: { 202: webhookSchemas.QueuedSchema },
      },
    },
    async (request, reply) => {
      const { deliveryId } = request.params
      if (!isDeliveryId(deliveryId)) throw new Problem('not_found')
      const answer = await resendDelivery(
        issuing,
        createRequester(request),
        { webhookId: parseWebhookId(request), deliveryId },
        repeatable(request),
      )
      reply.code(202)
      return markReplay(reply, answer)
    },
  )
}

export function replayWebhookRoute({ app, base, issuing }: PublicApi): void {
  app.post(
    `${base}/webhooks/:webhookId/replay`,
    {
      config: { ...config, bodyRequired: true },
      schema: {
        operationId: 'replayWebhook',
        summary: 'Deliver missed events',
        description:
          'Delivers all events since an instant that the webhook subscribes to and did not ' +
          'get: those whose delivery failed, and those from when it was disabled or did not ' +
          'exist yet.',
        tags: ['Webhooks'],
        params: webhookSchemas.WebhookParamsSchema,
        body: webhookSchemas.ReplaySchema,
        response: { 202: webhookSchemas.ReplayingSchema },
      },
    },
    async (request, reply) => {
      const answer = await replayDeliveries(
        issuing,
        createRequester(request),
        { webhookId: parseWebhookId(request), since: request.body.since },
        repeatable(request),
      )
      reply.code(202)
      return markReplay(reply, answer)
    },
  )
}
